"""Files of decisions, which a service writes."""
