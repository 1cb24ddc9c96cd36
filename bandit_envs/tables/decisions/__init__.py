"""Tables of decisions among candidates with features, which are other ones each time.

`candidate_rows` has what some rows of such a table hold. `candidate_table` says what all such
tables answer: `long_tables` cuts those with one row a candidate, and `list_tables` those with lists
of candidates. `search` finds how a table becomes numbers, and `new_decisions` reads what a policy
is to decide.
"""
