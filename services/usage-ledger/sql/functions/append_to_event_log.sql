-- For the version before, which asks for it by this name and hands contents over in base64; `append_records` is in its place.
CREATE OR REPLACE FUNCTION append_to_event_log(log_topic TEXT, keys TEXT[], contents TEXT[]) RETURNS VOID LANGUAGE sql AS $$
  SELECT append_records(log_topic, keys, string_agg(bytes, '' ORDER BY nth), array_agg(octet_length(bytes) ORDER BY nth))
  FROM (
    SELECT decode(content, 'base64') AS bytes, nth FROM unnest(contents) WITH ORDINALITY AS given (content, nth)
  ) AS record
$$;
