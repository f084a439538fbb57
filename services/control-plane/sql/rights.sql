-- What the role that control-plane works with may do, applied after every migration: nothing but this. It owns nothing, so it
-- can drop or alter nothing, and no line of the audit can be changed or removed by it.
REVOKE ALL ON SCHEMA public, pgboss FROM PUBLIC, :service_role;
REVOKE ALL ON ALL TABLES IN SCHEMA public, pgboss FROM PUBLIC, :service_role;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA public, pgboss FROM PUBLIC, :service_role;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public, pgboss FROM PUBLIC, :service_role;
GRANT USAGE ON SCHEMA public, pgboss TO :service_role;

GRANT SELECT, INSERT, UPDATE ON account_user, organization, workspace, invitation, account_hold, verification, mail TO :service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON user_email, identity, passkey, session, ceremony, member TO :service_role;
GRANT SELECT, INSERT ON audit, feed TO :service_role;
GRANT SELECT ON feed_epoch TO :service_role;
GRANT SELECT, INSERT, UPDATE ON region_epoch, day_total TO :service_role;
GRANT SELECT, INSERT ON ledger_account, transfer, rate_month, document TO :service_role;
GRANT SELECT, INSERT ON psp_movement TO :service_role;
GRANT SELECT, UPDATE ON psp_comparison TO :service_role;
GRANT SELECT ON psp_expected TO :service_role;
GRANT SELECT, INSERT, UPDATE ON billing_account, top_up, psp_event, refund, dispute, top_up_rule TO :service_role;
GRANT SELECT, INSERT ON top_up_mandate, top_up_limit_notice, alert TO :service_role;
GRANT SELECT, INSERT, UPDATE ON alert_rule, alert_delivery TO :service_role;
GRANT SELECT ON ledger_balance, day_spend, wallet TO :service_role;

-- The job queue.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgboss TO :service_role;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgboss TO :service_role;
