"""Tables of decisions among candidates with features, which are other ones each time.

`candidate_rows` has what some rows of such a table hold. `long_tables` cuts tables with one row a
candidate. `search` finds how such a table becomes numbers.
"""
