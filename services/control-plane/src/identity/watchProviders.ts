import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import { PROVIDER_FAILURES, type Provider } from './providers.ts';

const CHECK_MS = 60_000;

/** Checks every provider once a minute, and measures which ones answer and which ones fail sign-ins. */
export function watchProviders(
  providers: readonly Provider[],
  { meter, log, checkMs = CHECK_MS }: { meter: Meter; log: Logger; checkMs?: number },
): Repetition {
  const failures = meter.createCounter('turnpike_provider_failures_total', {
    description: 'Requests of sign-ins to an identity provider that failed by no doing of a browser, by why.',
  });
  for (const provider of providers) {
    for (const reason of PROVIDER_FAILURES) failures.add(0, { provider: provider.id, reason });
    provider.onFailure((reason) => failures.add(1, { provider: provider.id, reason }));
  }
  const answers = new Map<string, boolean>();
  meter
    .createObservableGauge('turnpike_provider_answers', {
      description: 'Whether an identity provider gave its description at the check of the last minute: 1 or 0.',
    })
    .addCallback((result) => {
      for (const [provider, isAnswering] of answers) result.observe(Number(isAnswering), { provider });
    });

  async function check(): Promise<void> {
    const outcomes = await Promise.allSettled(providers.map((provider) => provider.check()));
    for (const [index, { id }] of providers.entries()) answers.set(id, outcomes[index]?.status === 'fulfilled');
    const failed = outcomes.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }
  return repeat(check, {
    pauseMs: checkMs,
    log,
    failing: 'an identity provider does not answer: members sign in by mail or passkey',
  });
}
