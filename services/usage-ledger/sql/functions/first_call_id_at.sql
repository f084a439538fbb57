-- The smallest UUIDv7 of a millisecond or of any later one.
CREATE OR REPLACE FUNCTION first_call_id_at(instant TIMESTAMPTZ) RETURNS UUID LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex(round(extract(epoch FROM instant) * 1000)::BIGINT), 12, '0') || repeat('0', 20))::UUID;
$$;
