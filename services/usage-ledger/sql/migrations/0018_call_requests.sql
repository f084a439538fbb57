-- The request that a call was admitted for, and its trace if it was traced, for operators. Null of a call of the version before. Neither is
-- a part of what an audit checks. No index: a request's call begins within minutes of it, which the call ids of that time find.
ALTER TABLE usage_request ADD COLUMN request_id UUID, ADD COLUMN trace_id UUID;
