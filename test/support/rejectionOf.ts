import OpenAI from 'openai';

/** The error that the official client makes of a refusal; an answer instead is a failed test. */
export async function rejectionOf(promise: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof OpenAI.APIError)) throw new Error(`expected an API error, got ${String(outcome)}`);
  return outcome;
}
