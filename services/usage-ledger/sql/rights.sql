-- What the role that usage-ledger works with may do, applied after every migration: nothing but this. It owns nothing, so it
-- can drop, alter or empty nothing; no row of the books can be changed or removed by it.
REVOKE ALL ON SCHEMA public FROM PUBLIC, :service_role;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, :service_role;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM PUBLIC, :service_role;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC, :service_role;
GRANT USAGE ON SCHEMA public TO :service_role;

-- The books: read here, written by the owner's functions. A credit posts itself.
GRANT SELECT ON usage_request, key_total, workspace_total, workspace_month_total, workspace_day_total, key_hour_total, key_hour_units,
  posting TO :service_role;
GRANT SELECT, INSERT ON credit TO :service_role;
GRANT EXECUTE ON FUNCTION record_ended_calls, record_calls, record_usage, ensure_usage_partition, first_call_id_at, current_timeline
  TO :service_role;

-- Audits: seals are read here, and made by the owner's functions.
GRANT SELECT ON sealing, sealed_hour, archived_hour, sealed_key, seal_amendment, sealed_wallet, sealed_posting TO :service_role;
GRANT SELECT, UPDATE ON reconciliation TO :service_role;
GRANT EXECUTE ON FUNCTION usage_by_hour, days_apart, priced_calls, priced_usage, hash_usage_row, unsealed_postings, hash_posting,
  begin_sealing, seal_usage, seal_postings TO :service_role;

-- Where the consumers stand, who they are, and what it could not read: the bytes themselves stay as they came.
GRANT SELECT, INSERT, UPDATE ON event_offset TO :service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON event_reader TO :service_role;
GRANT SELECT, INSERT, UPDATE (reason, replayed_at, repaired_payload, dismissed_at, dismissal_note) ON dead_letter TO :service_role;

-- The last applied entry of the account layer's feed, and the days that it was told.
GRANT SELECT, UPDATE ON feed_cursor, day_report_state TO :service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON day_report TO :service_role;
GRANT SELECT, INSERT, UPDATE ON take_back TO :service_role;

-- The embedded event log, whose old records are dropped.
GRANT SELECT, INSERT, DELETE ON event_log_record TO :service_role;
GRANT EXECUTE ON FUNCTION append_records, append_to_event_log TO :service_role;

-- Which Redis the gate counts in, and the routers that count there.
GRANT SELECT, UPDATE ON recovery TO :service_role;
GRANT SELECT, INSERT ON postgres_run TO :service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON router, redis_server TO :service_role;
