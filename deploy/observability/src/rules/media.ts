import { grew, type RuleFile } from './rule.ts';

const FAILED = 'turnpike_jobs_ended_total{ending!~"completed|cancelled|content_refused"}';

/** What media-jobs has to be looked at for. How jobs stand each process says of the whole region, so the largest is taken. */
export const mediaRules: RuleFile = {
  name: 'media',
  rules: [
    {
      alert: 'MediaRemovalOverdue',
      expr: 'max(turnpike_jobs_overdue{lacks="removal"}) > 0',
      severity: 'page',
      summary:
        'Bytes of {{ $value }} media jobs are still there 36 hours after the end of a clip; at 48 hours a promise is broken',
    },
    {
      alert: 'MediaJobsOverdue',
      expr: 'max by (lacks) (turnpike_jobs_overdue{lacks!~"removal|settlement"}) > 0',
      for: '5m',
      severity: 'ticket',
      summary: '{{ $value }} media jobs lack their {{ $labels.lacks }}, which should have come long ago',
    },
    {
      alert: 'MediaJobsNotSeen',
      // NaN, which never equals itself: the database does not say how jobs stand. Without any backend, no process is scraped.
      expr: 'count(turnpike_jobs != turnpike_jobs) > 0 or absent(turnpike_backend_state)',
      for: '5m',
      severity: 'page',
      summary: 'Nobody knows how media jobs stand, so what is overdue would not be seen',
    },
    {
      alert: 'MediaQueueOld',
      expr: 'max by (model) (turnpike_job_oldest_seconds{state="queued"}) > 1800',
      severity: 'ticket',
      summary:
        'The oldest job of {{ $labels.model }} has waited for half an hour; after one hour, of a clip two, it fails',
    },
    {
      alert: 'MediaModelWithoutBackend',
      expr: 'max by (model) (turnpike_backend_slots) == 0',
      for: '2m',
      severity: 'page',
      summary: 'No media backend takes work for {{ $labels.model }}',
    },
    {
      alert: 'MediaBackendOut',
      expr: 'max by (backend) (turnpike_backend_state) > 0',
      for: '10m',
      severity: 'ticket',
      summary: 'Media backend {{ $labels.backend }} takes no work',
    },
    {
      alert: 'MediaBackendRefusesUs',
      expr: grew('turnpike_alerts_total{kind="backend_misconfigured"}', '10m'),
      severity: 'ticket',
      summary: 'A media backend refuses us, or does not have its own model',
    },
    {
      alert: 'MediaJobsFail',
      expr: `sum by (model) (increase(${FAILED}[30m])) / sum by (model) (increase(turnpike_jobs_ended_total[30m])) > 0.1
and sum by (model) (increase(turnpike_jobs_ended_total[30m])) > 10`,
      severity: 'ticket',
      summary: 'More than a tenth of the jobs of {{ $labels.model }} fail',
    },
    {
      alert: 'MediaStoreAway',
      expr: 'sum(rate(turnpike_object_store_failures_total[5m])) > 0',
      for: '5m',
      severity: 'page',
      summary:
        'The object store does not take outputs, or does not remove them; what cannot be stored for an hour has failed',
    },
    {
      alert: 'MediaOrphans',
      expr: 'sum by (backend) (increase(turnpike_orphans_removed_total[1h])) > 10',
      severity: 'ticket',
      summary: '{{ $value | humanize }} jobs of {{ $labels.backend }} were nobody’s within an hour',
    },
    {
      alert: 'MediaDecoderFull',
      expr: 'sum(rate(turnpike_decoder_refusals_total[5m])) > 0',
      for: '10m',
      severity: 'ticket',
      summary: 'Recordings are turned away because too much is decoded',
    },
    {
      alert: 'MediaUploadsFull',
      expr: 'max(turnpike_upload_bytes / turnpike_upload_limit_bytes) > 0.8',
      for: '5m',
      severity: 'ticket',
      summary: 'Uploads fill the disk that they may take',
    },
  ],
};
