import type { Meter } from '@opentelemetry/api';

/** Longest wait for an answer: within the deadline of a scrape. */
const ANSWER_TIMEOUT_MS = 2_000;

export interface AskedGauge {
  name: string;
  description: string;
  /** Asks a database or a broker, at every scrape. */
  ask: () => Promise<number>;
}

/** A gauge whose value has to be asked for. NaN when no answer came in time: without a value it would look like a process that is away. */
export function createAskedGauge(meter: Meter, { name, description, ask }: AskedGauge): void {
  meter.createObservableGauge(name, { description }).addCallback(async (result) => {
    const deadline = Promise.withResolvers<number>();
    const timer = setTimeout(() => deadline.resolve(Number.NaN), ANSWER_TIMEOUT_MS);
    const answer = ask().catch(() => Number.NaN);
    result.observe(await Promise.race([answer, deadline.promise]));
    clearTimeout(timer);
  });
}
