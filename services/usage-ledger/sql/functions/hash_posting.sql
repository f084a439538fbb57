-- What tells one content of a posting from another.
CREATE OR REPLACE FUNCTION hash_posting(entry ANYELEMENT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$
  SELECT hash_record_extended(ROW(
    (entry).posting_id, (entry).kind, (entry).workspace_id, (entry).key_id, (entry).source,
    (entry).wallet_nano_usd, (entry).counter_nano_usd, (entry).posted_at, (entry).seq
  ), 0)
$$;
