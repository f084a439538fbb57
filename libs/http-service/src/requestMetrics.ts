import type { Meter } from '@turnpike/telemetry/startTelemetry';

export interface RequestMetrics {
  /**
   * A request has ended. `status` is `none` when there was no answer. `outcome` says whether the answer is whole, broke off after its
   * head, or was left by its client.
   */
  ended(request: { route: string; status: string; outcome: 'whole' | 'cut' | 'left'; seconds: number }): void;
  /** A request was refused, or failed, by the kind of its fault. */
  faulted(request: { route: string; fault: string }): void;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** The instruments of every HTTP server. Labels are route patterns and kinds of faults, so their number is bounded. */
export function createRequestMetrics(meter: Meter): RequestMetrics {
  const requests = meter.createCounter('turnpike_requests_total', {
    description:
      'Requests that ended, by status; outcome is whole, cut (the answer broke off) or left (by its client).',
  });
  const durations = meter.createHistogram('turnpike_request_duration_seconds', {
    description: 'From a request to the last byte of its answer.',
    advice: { explicitBucketBoundaries: SECONDS },
  });
  const faults = meter.createCounter('turnpike_faults_total', {
    description: 'Requests that were refused or failed, by why.',
  });
  return {
    ended({ route, status, outcome, seconds }) {
      requests.add(1, { route, status, outcome });
      durations.record(seconds, { route });
    },
    faulted: ({ route, fault }) => faults.add(1, { route, fault }),
  };
}
