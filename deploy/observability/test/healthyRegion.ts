import { REGION_SERVICES } from '@turnpike/config/services';

/** The labels that Prometheus gives to the series of one replica of a service. */
const at = (job: string, labels = ''): string => `{job="${job}", instance="${job}-1"${labels && `, ${labels}`}}`;
const CHAT = 'route="POST /v1/chat/completions"';

/** A number that stays, and a counter that grows by so much a minute. */
export const stays = (value: number): string => `${value}x90`;
export const grows = (aMinute: number): string => `0+${aMinute}x90`;

/** Values of a region and an account layer in which nothing is wrong, for an hour and a half, one a minute, by their series. */
export const HEALTHY: Record<string, string> = {
  ...Object.fromEntries(
    REGION_SERVICES.flatMap((service) => [
      [`up${at(service)}`, stays(1)],
      [`turnpike_event_loop_busy_seconds_total${at(service)}`, grows(12)],
    ]),
  ),
  [`up${at('control-plane')}`]: stays(1),
  ...Object.fromEntries(
    ['auth', 'usage-ledger', 'media-jobs', 'control-plane'].map((service) => [
      `turnpike_ready${at(service, 'check="postgres"')}`,
      stays(1),
    ]),
  ),
  [`turnpike_mail_oldest_seconds${at('control-plane')}`]: stays(120),
  [`turnpike_mail_attempts_total${at('control-plane', 'outcome="sent"')}`]: grows(2),
  [`turnpike_mail_attempts_total${at('control-plane', 'outcome="address_refused"')}`]: grows(3),
  [`turnpike_mail_attempts_total${at('control-plane', 'outcome="gave_up"')}`]: stays(1),
  [`turnpike_provider_answers${at('control-plane', 'provider="p"')}`]: stays(1),
  [`turnpike_provider_failures_total${at('control-plane', 'provider="p", reason="refused_us"')}`]: stays(1),
  [`turnpike_euro_rate_known${at('control-plane')}`]: stays(1),
  [`turnpike_top_up_uninvoiced_seconds${at('control-plane')}`]: stays(5),
  [`turnpike_invoice_uncopied_seconds${at('control-plane')}`]: stays(5),
  [`turnpike_refund_oldest_seconds${at('control-plane')}`]: stays(5),
  [`turnpike_disputes_unanswered${at('control-plane')}`]: stays(0),
  [`turnpike_payment_differences${at('control-plane')}`]: stays(0),
  [`turnpike_payments_compared_seconds${at('control-plane')}`]: stays(80_000),
  [`turnpike_automatic_top_up_oldest_seconds${at('control-plane')}`]: stays(5),
  [`turnpike_automatic_top_ups_burst${at('control-plane')}`]: stays(1),
  [`turnpike_payment_event_oldest_seconds${at('control-plane')}`]: stays(5),
  [`turnpike_faults_total${at('edge', 'route="unlisted", fault="too_many_requests"')}`]: grows(30),
  [`turnpike_faults_total${at('edge', 'route="unlisted", fault="service_unavailable"')}`]: stays(3),
  [`turnpike_feed_refused_total${at('auth')}`]: stays(3),
  [`turnpike_feed_diverged_total${at('auth')}`]: stays(1),
  [`turnpike_feed_digest_differing${at('auth')}`]: stays(0),
  [`turnpike_feed_age_seconds${at('auth')}`]: stays(2),
  // Another replica follows.
  'turnpike_feed_age_seconds{job="auth", instance="auth-2"}': stays(5_000),
  [`turnpike_day_totals_age_seconds${at('usage-ledger')}`]: stays(40),
  [`turnpike_day_totals_aside${at('usage-ledger')}`]: stays(0),
  [`turnpike_throttle_exchanges_total${at('edge', 'outcome="failed"')}`]: stays(3),
  [`turnpike_requests_total${at('edge', `${CHAT}, status="200", outcome="whole"`)}`]: grows(10_000),
  [`turnpike_requests_total${at('edge', `${CHAT}, status="402", outcome="whole"`)}`]: grows(500),
  [`turnpike_requests_total${at('edge', `${CHAT}, status="500", outcome="whole"`)}`]: grows(1),
  [`turnpike_requests_total${at('edge', `${CHAT}, status="200", outcome="cut"`)}`]: grows(1),
  // Refused before they are anybody's call, and told to stop: neither is an error of ours.
  [`turnpike_requests_total${at('edge', 'route="unlisted", status="429", outcome="whole"')}`]: grows(90_000),
  [`turnpike_requests_total${at('edge', 'route="GET /ready", status="503", outcome="whole"')}`]: grows(60),
  [`turnpike_faults_total${at('model-router', `${CHAT}, fault="insufficient_balance"`)}`]: grows(500),
  [`turnpike_faults_total${at('model-router', `${CHAT}, fault="admission_unavailable"`)}`]: stays(3),
  [`turnpike_faults_total${at('model-router', `${CHAT}, fault="no_healthy_engine"`)}`]: stays(3),
  [`turnpike_faults_total${at('model-router', `${CHAT}, fault="model_without_capacity"`)}`]: grows(4),
  [`turnpike_warnings${at('model-router', 'kind="model_without_backend", subject="clip"')}`]: stays(1),
  [`turnpike_time_to_first_token_seconds_bucket${at('model-router', 'model="m", le="5"')}`]: grows(9_990),
  [`turnpike_time_to_first_token_seconds_bucket${at('model-router', 'model="m", le="+Inf"')}`]: grows(10_000),
  [`turnpike_time_to_first_token_seconds_count${at('model-router', 'model="m"')}`]: grows(10_000),
  [`turnpike_admit_seconds_bucket${at('model-router', 'le="0.005"')}`]: grows(10_000),
  [`turnpike_admit_seconds_bucket${at('model-router', 'le="0.1"')}`]: grows(10_000),
  [`turnpike_admit_seconds_bucket${at('model-router', 'le="+Inf"')}`]: grows(10_000),
  [`turnpike_spool_bytes${at('model-router')}`]: stays(4_000),
  [`turnpike_spool_limit_bytes${at('model-router')}`]: stays(10_000),
  [`turnpike_spool_hung${at('model-router')}`]: stays(0),
  [`turnpike_spool_refused${at('model-router')}`]: stays(0),
  [`turnpike_redis_memory_ratio${at('model-router')}`]: stays(0.6),
  [`turnpike_swept_holds_total${at('model-router')}`]: stays(2),
  [`turnpike_alerts_total${at('model-router', 'kind="charge_above_hold"')}`]: stays(2),
  [`turnpike_tokens_total${at('model-router', 'model="m", kind="completion"')}`]: grows(1_000_000),
  [`turnpike_unpaid_tokens_total${at('model-router', 'model="m", reason="engine_reset"')}`]: grows(1_000),
  [`turnpike_engine_breaker${at('model-router', 'engine="e1"')}`]: stays(0),
  [`turnpike_engine_breaker${at('model-router', 'engine="e2"')}`]: stays(0),
  // One router of two has left it out: calls flow to it still.
  'turnpike_engine_breaker{job="model-router", instance="model-router-2", engine="e2"}': stays(2),
  [`turnpike_sheds_total${at('model-router', 'model="m", reason="key_share"')}`]: stays(4),
  [`turnpike_ledger_mismatch_total${at('usage-ledger')}`]: stays(1),
  // The clock of these tests begins at 0.
  [`turnpike_ledger_reconciled_timestamp_seconds${at('usage-ledger')}`]: stays(1),
  [`turnpike_event_lag_records${at('usage-ledger')}`]: stays(800),
  [`turnpike_usage_rows_total${at('usage-ledger')}`]: grows(10_000),
  [`turnpike_ledger_dead_letters${at('usage-ledger')}`]: stays(0),
  [`turnpike_event_log_gaps_total${at('usage-ledger')}`]: stays(1),
  [`turnpike_gate_closed_seconds${at('usage-ledger')}`]: stays(0),
  [`turnpike_balances_given${at('usage-ledger')}`]: stays(1),
  [`turnpike_router_strangers${at('usage-ledger')}`]: stays(0),
  [`turnpike_routers_overdue${at('usage-ledger')}`]: stays(0),
  ...Object.fromEntries(
    ['removal', 'end', 'settlement', 'backend'].map((lacks) => [
      `turnpike_jobs_overdue${at('media-jobs', `lacks="${lacks}"`)}`,
      stays(0),
    ]),
  ),
  [`turnpike_jobs${at('media-jobs', 'model="clip", state="queued"')}`]: stays(12),
  [`turnpike_job_oldest_seconds${at('media-jobs', 'model="clip", state="queued"')}`]: stays(600),
  // A long run is not a long wait.
  [`turnpike_job_oldest_seconds${at('media-jobs', 'model="clip", state="running"')}`]: stays(5_000),
  [`turnpike_jobs_ended_total${at('media-jobs', 'model="clip", operation="videos", ending="completed"')}`]: grows(30),
  [`turnpike_jobs_ended_total${at('media-jobs', 'model="clip", operation="videos", ending="cancelled"')}`]: grows(9),
  [`turnpike_jobs_ended_total${at('media-jobs', 'model="clip", operation="videos", ending="timed_out"')}`]: grows(1),
  [`turnpike_backend_state${at('media-jobs', 'backend="b1", model="clip"')}`]: stays(0),
  [`turnpike_backend_slots${at('media-jobs', 'backend="b1", model="clip"')}`]: stays(4),
  [`turnpike_alerts_total${at('media-jobs', 'kind="backend_misconfigured"')}`]: stays(1),
  [`turnpike_object_store_failures_total${at('media-jobs')}`]: stays(7),
  [`turnpike_orphans_removed_total${at('media-jobs', 'backend="b1"')}`]: stays(7),
  [`turnpike_decoder_refusals_total${at('media-jobs')}`]: stays(7),
  [`turnpike_upload_bytes${at('media-jobs')}`]: stays(700),
  [`turnpike_upload_limit_bytes${at('media-jobs')}`]: stays(1_000),
};

/** The healthy region's series of a metric with this in its labels. Throws unless there is exactly one. */
export function seriesOf(metric: string, part = ''): string {
  const found = seriesOfAll(metric).filter((series) => series.includes(part));
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${metric} ${part} names ${found.length} series`);
  return found[0];
}

/** The healthy region's series of a metric. */
export const seriesOfAll = (metric: string): string[] =>
  Object.keys(HEALTHY).filter((series) => series.startsWith(`${metric}{`));
