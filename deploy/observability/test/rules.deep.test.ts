import { expect, it } from '@jest/globals';
import { grows, seriesOf, seriesOfAll, stays } from './healthyRegion.ts';
import { ALERTS, GLOBAL_ALERTS } from './readRules.ts';
import { type Case, testRules, toFiringTest, toTest, UNKNOWN } from './testRules.ts';

const ROUTER = { job: 'model-router', instance: 'model-router-1' };
const at = (metric: string, part?: string) => seriesOf(metric, part);
/** A series that is not there. */
const MISSING = '_x90';
const CASES: Case[] = [
  {
    alert: 'AvailabilityBurnsFast',
    series: { [at('turnpike_requests_total', 'status="500"')]: grows(1_000) },
    also: { alert: 'AvailabilityBurnsSlowly' },
    says: '8.704% of the calls of the last hours failed by our doing; the aim is 0.1 % at most',
  },
  {
    alert: 'AvailabilityBurnsSlowly',
    series: { [at('turnpike_requests_total', 'status="500"')]: grows(20) },
    says: '0.1996% of the calls of the last hours failed by our doing; the aim is 0.1 % at most',
  },
  {
    alert: 'AvailabilityBurnsSlowly',
    series: { [at('turnpike_requests_total', 'outcome="cut"')]: grows(20) },
    says: '0.1996% of the calls of the last hours failed by our doing; the aim is 0.1 % at most',
  },
  {
    alert: 'FirstTokenBurnsFast',
    series: { [at('turnpike_time_to_first_token_seconds_bucket', 'le="5"')]: grows(5_000) },
    also: { alert: 'FirstTokenBurnsSlowly' },
    says: 'The first token of 50% of the streams of the last hours took longer than 5 s; the aim is 1 % at most',
  },
  {
    alert: 'FirstTokenBurnsSlowly',
    series: { [at('turnpike_time_to_first_token_seconds_bucket', 'le="5"')]: grows(9_800) },
    says: 'The first token of 2% of the streams of the last hours took longer than 5 s; the aim is 1 % at most',
  },
  {
    alert: 'FeedRefused',
    series: { [at('turnpike_feed_refused_total')]: '3x14 4x75' },
    labels: { job: 'auth' },
    says: 'auth refuses the feed of the account layer: workspaces and credits stay as they are',
  },
  {
    alert: 'FeedDiverged',
    series: { [at('turnpike_feed_diverged_total')]: '1x14 2x75' },
    labels: { job: 'auth' },
    says: "auth found another history of the account layer's feed, and read it again",
  },
  {
    alert: 'FeedDigestDiffers',
    series: { [at('turnpike_feed_digest_differing')]: stays(2) },
    labels: { job: 'auth' },
    says: '2 workspaces of auth are not as the account layer has them',
  },
  {
    alert: 'FeedStale',
    series: { [at('turnpike_feed_age_seconds', 'auth-1')]: stays(1_000) },
    labels: { job: 'auth' },
    says: 'auth has not followed the feed of the account layer for 16m 40s',
  },
  {
    alert: 'DayTotalsStale',
    series: { [at('turnpike_day_totals_age_seconds')]: stays(1_000) },
    says: 'The account layer has not had the days of this region for 16m 40s',
  },
  {
    alert: 'DayTotalsAside',
    series: { [at('turnpike_day_totals_aside')]: stays(1) },
    says: 'The ledger was restored, and the account layer keeps its days aside until an operator confirms them',
  },
  {
    alert: 'BooksDiffer',
    series: { [at('turnpike_ledger_mismatch_total')]: '1x9 2x50' },
    says: 'Two sums of the books that have to be equal are not',
  },
  {
    alert: 'BooksNotChecked',
    series: { [at('turnpike_ledger_reconciled_timestamp_seconds')]: stays(-12_000) },
    says: 'No reconciliation came to its end for three hours, or none is known of, so a loss would not be found',
    lookedAt: '80m',
  },
  {
    alert: 'BooksNotChecked',
    series: { [at('turnpike_ledger_reconciled_timestamp_seconds')]: UNKNOWN },
    says: 'No reconciliation came to its end for three hours, or none is known of, so a loss would not be found',
    lookedAt: '80m',
  },
  {
    alert: 'SpoolFills',
    series: { [at('turnpike_spool_bytes')]: stays(6_000) },
    labels: ROUTER,
    says: 'The spool of model-router model-router-1 is 60% full; at 90 % it refuses calls',
  },
  {
    alert: 'SpoolDiskHangs',
    series: { [at('turnpike_spool_hung')]: stays(1) },
    labels: ROUTER,
    says:
      'The disk of the spool of model-router model-router-1 hangs: it refuses calls, and keeps the events of those under ' +
      'way in Redis',
  },
  {
    alert: 'SpoolDiskRefuses',
    series: { [at('turnpike_spool_refused')]: stays(1) },
    labels: ROUTER,
    says: 'The disk of the spool of model-router model-router-1 refuses writes, as a full one does: it refuses calls',
  },
  {
    alert: 'RedisFills',
    series: { [at('turnpike_redis_memory_ratio')]: stays(0.8) },
    labels: ROUTER,
    says: 'A Redis uses 80% of its maxmemory; at 100 % every call of it is refused',
  },
  {
    alert: 'LedgerLags',
    series: { [at('turnpike_event_lag_records')]: stays(11_000) },
    says: '11000 records wait for the ledger, which is more than it records in a minute',
  },
  {
    alert: 'LedgerLags',
    series: { [at('turnpike_event_lag_records')]: stays(3), [at('turnpike_usage_rows_total')]: stays(50) },
    says: '3 records wait for the ledger, which is more than it records in a minute',
  },
  {
    alert: 'PostgresAway',
    series: { [at('turnpike_ready', 'job="auth"')]: stays(0) },
    labels: { job: 'auth' },
    says: 'Postgres does not answer auth',
  },
  {
    alert: 'EventLogAway',
    series: { [at('turnpike_event_lag_records')]: UNKNOWN },
    says: 'The event log does not answer the ledger',
  },
  {
    alert: 'DeadLetters',
    series: { [at('turnpike_ledger_dead_letters')]: stays(2) },
    says: '2 events could not be read; their calls have no row',
  },
  {
    alert: 'EventLogLostRecords',
    series: { [at('turnpike_event_log_gaps_total')]: '0x14 1x45' },
    labels: { job: 'usage-ledger', instance: 'usage-ledger-1' },
    says: 'The event log lost records before the ledger had read them, or was made anew',
  },
  {
    alert: 'GateClosed',
    series: { [at('turnpike_gate_closed_seconds')]: stays(90) },
    says: 'No router has admitted a call for 1m 30s, of a shard at least',
  },
  {
    alert: 'BalancesNotGiven',
    series: { [at('turnpike_balances_given')]: stays(0) },
    says: 'The ledger gives no balances: it reads the event log again, and has not come to its end',
  },
  {
    alert: 'RouterSeesAnotherRedis',
    series: { [at('turnpike_router_strangers')]: stays(1) },
    says: '1 routers see another Redis than the region counts in',
  },
  {
    alert: 'RouterOverdue',
    series: { [at('turnpike_routers_overdue')]: stays(1) },
    says: '1 routers have admitted nothing for longer than anything is waited for',
  },
  {
    alert: 'AdmissionRefused',
    series: { [at('turnpike_faults_total', 'fault="admission_unavailable"')]: grows(5) },
    labels: { job: 'model-router' },
    says: 'model-router refuses calls because Redis does not admit them',
  },
  {
    alert: 'RedisSlow',
    series: { [at('turnpike_admit_seconds_bucket', 'le="0.005"')]: grows(9_000) },
    says: 'One admission in a hundred waits 90.5ms for Redis',
  },
  {
    alert: 'HoldsNotSettled',
    series: { [at('turnpike_jobs_overdue', 'settlement')]: stays(3) },
    says: '3 media jobs have ended and their holds are not settled',
  },
  {
    alert: 'CallsLostTheirRouter',
    series: { [at('turnpike_swept_holds_total')]: '_x14 5x45' },
    labels: ROUTER,
    says: '5 holds were released for calls that had lost their router',
  },
  {
    alert: 'TokensUnpaid',
    series: { [at('turnpike_unpaid_tokens_total')]: grows(100_000) },
    labels: { reason: 'engine_reset' },
    says: 'Engines made 2.5M unpaid output tokens in an hour: their attempts ended in engine_reset',
  },
  {
    alert: 'ChargeInDoubt',
    series: { [at('turnpike_alerts_total', 'charge_above_hold')]: '2x14 3x45' },
    labels: { ...ROUTER, kind: 'charge_above_hold' },
    says: 'A router raised charge_above_hold, 1 times',
  },
  {
    alert: 'ServiceDown',
    series: { [at('up', 'auth-1')]: MISSING },
    labels: { job: 'auth' },
    says: 'No replica of auth answers',
  },
  {
    alert: 'ServiceDown',
    series: { [at('up', 'auth-1')]: stays(0) },
    labels: { job: 'auth' },
    says: 'No replica of auth answers',
    also: {
      ...{ alert: 'ReplicaDown', says: 'A replica of auth does not answer: auth-1' },
      labels: { job: 'auth', instance: 'auth-1' },
    },
  },
  {
    alert: 'ReplicaDown',
    series: { 'up{job="auth", instance="auth-2"}': stays(0) },
    labels: { job: 'auth', instance: 'auth-2' },
    says: 'A replica of auth does not answer: auth-2',
  },
  {
    alert: 'ControlPlaneDown',
    series: { [at('up', 'control-plane')]: stays(0) },
    says: 'No replica of control-plane answers. The regions serve calls without it.',
  },
  {
    alert: 'ControlPlaneDown',
    series: { [at('up', 'control-plane')]: MISSING },
    labels: { job: 'control-plane' },
    says: 'No replica of control-plane answers. The regions serve calls without it.',
  },
  {
    alert: 'AccountPostgresAway',
    series: { [at('turnpike_ready', 'job="control-plane"')]: stays(0) },
    says: 'Postgres does not answer the control plane. The regions serve calls without it.',
  },
  {
    alert: 'MailWaits',
    series: { [at('turnpike_mail_oldest_seconds')]: stays(1_200) },
    says: 'A mail to a member has waited for 20m 0s',
  },
  {
    alert: 'MailGivenUp',
    series: { [at('turnpike_mail_attempts_total', 'gave_up')]: '0x14 1x75' },
    says: 'Mails are given up, two days after they were due',
  },
  {
    alert: 'MailRefused',
    series: { [at('turnpike_mail_attempts_total', '"sent"')]: stays(5) },
    says: 'The mail server refuses every address',
    lookedAt: '75m',
  },
  {
    alert: 'SignInProviderAway',
    series: { [at('turnpike_provider_answers')]: stays(0) },
    labels: { provider: 'p' },
    says: 'The identity provider p does not answer',
  },
  {
    alert: 'SignInProviderFails',
    series: { [at('turnpike_provider_failures_total')]: '1x14 6x75' },
    labels: { provider: 'p', reason: 'refused_us' },
    says: 'Sign-ins by the identity provider p fail: refused_us',
  },
  {
    alert: 'EuroRateMissing',
    series: { [at('turnpike_euro_rate_known')]: stays(0) },
    says: 'The current month has no euro rate',
  },
  {
    alert: 'TopUpWithoutInvoice',
    series: { [at('turnpike_top_up_uninvoiced_seconds')]: stays(4_200) },
    says: 'A payment has had no invoice for 1h 10m 0s',
  },
  {
    alert: 'InvoiceWithoutCopy',
    series: { [at('turnpike_invoice_uncopied_seconds')]: stays(9_000) },
    says: 'An invoice has had no copy in the object store for 2h 30m 0s',
  },
  {
    alert: 'AutomaticTopUpWaits',
    series: { [at('turnpike_automatic_top_up_oldest_seconds')]: stays(4_200) },
    says: 'An automatic top-up has had no outcome for 1h 10m 0s',
  },
  {
    alert: 'AutomaticTopUpsBurst',
    series: { [at('turnpike_automatic_top_ups_burst')]: stays(3) },
    says: 'One workspace has started 3 automatic top-ups within 10 minutes',
  },
  {
    alert: 'PaymentEventsWait',
    series: { [at('turnpike_payment_event_oldest_seconds')]: stays(1_200) },
    says: 'A webhook of the payment processor has waited for 20m 0s',
  },
  {
    alert: 'RefundStuck',
    series: { [at('turnpike_refund_oldest_seconds')]: stays(4_200) },
    says: 'A refund has been under way for 1h 10m 0s',
  },
  {
    alert: 'DisputeUnanswered',
    series: { [at('turnpike_disputes_unanswered')]: stays(2) },
    says: '2 disputes of payments wait for an answer',
  },
  {
    alert: 'PaymentsDiffer',
    series: { [at('turnpike_payment_differences')]: stays(1) },
    says: '1 movements at the payment processor differ from our books',
  },
  {
    alert: 'PaymentsNotCompared',
    series: { [at('turnpike_payments_compared_seconds')]: stays(180_000) },
    says: 'The payment processor was not compared with our books for 2d 2h 0m 0s',
  },
  {
    alert: 'ConsoleFlooded',
    series: { [at('turnpike_faults_total', 'too_many_requests')]: grows(600) },
    says: 'The console host refuses 10 requests a second',
  },
  {
    alert: 'ConsoleFlooded',
    series: { [at('turnpike_faults_total', 'service_unavailable')]: grows(600) },
    says: 'The console host refuses 10.5 requests a second',
  },
  {
    alert: 'ModelWithoutEngine',
    series: { [at('turnpike_faults_total', 'fault="no_healthy_engine"')]: grows(5) },
    says: 'Calls are refused because no engine of their model takes them',
  },
  {
    alert: 'NoEngines',
    series: Object.fromEntries(seriesOfAll('turnpike_engine_breaker').map((series) => [series, MISSING])),
    says: '1 routers run, and none of them knows an engine: every call of text is refused',
  },
  {
    alert: 'ModelNotServed',
    series: {
      'turnpike_warnings{job="model-router", instance="model-router-1", kind="model_without_engine", subject="m"}':
        stays(1),
    },
    labels: { subject: 'm' },
    says: 'The catalog sells m, and no engine takes its calls',
  },
  {
    alert: 'TargetNotListed',
    series: {
      'turnpike_warnings{job="model-router", instance="model-router-1", kind="target_not_listed", subject="pool"}':
        stays(1),
    },
    labels: { subject: 'pool' },
    says: 'The engines of target pool cannot be listed',
  },
  {
    alert: 'FileRefused',
    series: {
      'turnpike_warnings{job="catalog", instance="catalog-1", kind="file_refused", subject="CATALOG_FILE"}': stays(1),
    },
    labels: { job: 'catalog', subject: 'CATALOG_FILE' },
    says: 'catalog refuses CATALOG_FILE: the last good one is in force',
  },
  {
    alert: 'CatalogPostgresAway',
    series: {
      'turnpike_warnings{job="catalog", instance="catalog-1", kind="postgres_away", subject="DATABASE_URL"}': stays(1),
    },
    says: 'Postgres does not answer the catalog: what is in force stays, and no change comes into force',
  },
  {
    alert: 'EngineLeftOut',
    series: { [at('turnpike_engine_breaker', 'engine="e1"')]: stays(2) },
    labels: { engine: 'e1' },
    says: 'No router sends calls to engine e1',
  },
  {
    alert: 'CallsTurnedAway',
    series: { [at('turnpike_sheds_total')]: grows(6) },
    labels: { model: 'm', reason: 'key_share' },
    says: 'Calls of m are turned away for want of an engine (key_share)',
  },
  {
    alert: 'LimitsNotShared',
    series: { [at('turnpike_throttle_exchanges_total', 'outcome="failed"')]: grows(60) },
    labels: { job: 'edge', instance: 'edge-1', outcome: 'failed' },
    says: 'edge edge-1 keeps limits of source IPs by itself: Redis does not answer it',
  },
  {
    alert: 'ProcessBusy',
    series: { [at('turnpike_event_loop_busy_seconds_total', 'catalog-1')]: grows(55) },
    labels: { job: 'catalog', instance: 'catalog-1' },
    says: 'catalog catalog-1 is at its end: its event loop is hardly ever idle',
  },
  {
    alert: 'MediaRemovalOverdue',
    series: { [at('turnpike_jobs_overdue', 'removal')]: stays(4) },
    says: 'Bytes of 4 media jobs are still there 36 hours after the end of a clip; at 48 hours a promise is broken',
  },
  {
    alert: 'MediaJobsOverdue',
    series: { [at('turnpike_jobs_overdue', 'lacks="end"')]: stays(4) },
    labels: { lacks: 'end' },
    says: '4 media jobs lack their end, which should have come long ago',
  },
  {
    alert: 'MediaJobsNotSeen',
    series: { [at('turnpike_jobs')]: UNKNOWN },
    says: 'Nobody knows how media jobs stand, so what is overdue would not be seen',
  },
  {
    alert: 'MediaJobsNotSeen',
    series: { [at('turnpike_backend_state')]: MISSING },
    says: 'Nobody knows how media jobs stand, so what is overdue would not be seen',
  },
  {
    alert: 'MediaQueueOld',
    series: { [at('turnpike_job_oldest_seconds', 'state="queued"')]: stays(2_000) },
    labels: { model: 'clip' },
    says: 'The oldest job of clip has waited for half an hour; after one hour, of a clip two, it fails',
  },
  {
    alert: 'MediaModelWithoutBackend',
    series: { [at('turnpike_backend_slots')]: stays(0) },
    labels: { model: 'clip' },
    says: 'No media backend takes work for clip',
  },
  {
    alert: 'MediaBackendOut',
    series: { [at('turnpike_backend_state')]: stays(2) },
    labels: { backend: 'b1' },
    says: 'Media backend b1 takes no work',
  },
  {
    alert: 'MediaBackendRefusesUs',
    series: { [at('turnpike_alerts_total', 'backend_misconfigured')]: '_x19 1x40' },
    labels: { job: 'media-jobs', instance: 'media-jobs-1', kind: 'backend_misconfigured' },
    says: 'A media backend refuses us, or does not have its own model',
  },
  {
    alert: 'MediaJobsFail',
    series: { [at('turnpike_jobs_ended_total', 'timed_out')]: grows(10) },
    labels: { model: 'clip' },
    says: 'More than a tenth of the jobs of clip fail',
  },
  {
    alert: 'MediaStoreAway',
    series: { [at('turnpike_object_store_failures_total')]: grows(5) },
    says: 'The object store does not answer, take files or remove them; what cannot be stored for an hour has failed',
  },
  {
    alert: 'MediaOrphans',
    series: { [at('turnpike_orphans_removed_total')]: grows(1) },
    labels: { backend: 'b1' },
    says: '25 orphans of b1 were removed within an hour',
  },
  {
    alert: 'MediaDecoderFull',
    series: { [at('turnpike_decoder_refusals_total')]: grows(1) },
    says: 'Recordings are turned away because too much is decoded',
  },
  {
    alert: 'MediaUploadsFull',
    series: { [at('turnpike_upload_bytes')]: stays(900) },
    says: 'Uploads fill the disk that they may take',
  },
];

it('has a case for every alert', () => {
  expect([...new Set(CASES.map(({ alert }) => alert))].sort()).toEqual(
    [...ALERTS, ...GLOBAL_ALERTS].map(({ alert }) => alert).sort(),
  );
});

it.each(CASES)('fires $alert where its one sign is there, and none that does not follow from it', async (it) => {
  await testRules([toFiringTest(it)]);
});

it('calls nobody for two failed calls of a region with little traffic', async () => {
  const quiet = {
    [at('turnpike_requests_total', 'status="200", outcome="whole"')]: grows(1),
    [at('turnpike_requests_total', 'status="402"')]: stays(0),
    [at('turnpike_requests_total', 'outcome="cut"')]: stays(0),
    [at('turnpike_requests_total', 'status="500"')]: '0x20 2x69',
  };
  await testRules([toTest('quiet', quiet)]);
});

it('is told by the test of rules when an alert is silent that should fire, or fires that should not', async () => {
  const [fast] = CASES;
  if (fast === undefined) throw new Error('no case');
  await expect(testRules([toTest(fast.alert, {}, [fast])])).rejects.toThrow(fast.alert);
  await expect(testRules([toTest(fast.alert, fast.series)])).rejects.toThrow(fast.alert);
});
