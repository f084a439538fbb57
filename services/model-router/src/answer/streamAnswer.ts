import { ApiError } from '@turnpike/api-errors/apiError';
import { toChatError } from '../api/chatError.ts';
import type { EngineFault, KeyBoundFault } from '../api/chatFault.ts';
import type { CallContext } from './callContext.ts';
import { ClientStream } from './chunks/clientStream.ts';
import { runOnEngines } from './runOnEngines.ts';
import { StreamAttempt } from './streamAttempt.ts';

const FAILED: EngineFault = { kind: 'engine_failed' };

/**
 * Streams an answer from an engine to the client, event by event, and settles the call before the last one leaves.
 * Never ends silently: what is not whole ends in an error event (decisions, Streams).
 */
export async function streamAnswer(context: CallContext): Promise<void> {
  const { timeouts } = context;
  let attempt: StreamAttempt | undefined;
  const client = new ClientStream(context.res, {
    headers: context.headers,
    headersAfterMs: timeouts.headersAfterMs,
    keepAliveMs: timeouts.keepAliveMs,
    slowReaderTimeoutMs: timeouts.slowReaderMs,
    onLeave: () => attempt?.clientLeft(),
    onDrain: () => attempt?.clientDrained(),
  });
  context.call.onLeaseLost = () => attempt?.leaseLost();
  const endsAt = performance.now() + timeouts.streamMs;
  try {
    await runOnEngines(context, (engine, options) => {
      attempt = new StreamAttempt(context, client, engine);
      return attempt.run({ ...options, timeoutMs: endsAt - performance.now() });
    });
  } catch (error) {
    // Headers that had to go out take the status with them: the fault becomes an event.
    if (!client.hasBegun) {
      client.detach();
      throw error;
    }
    const fault = error instanceof ApiError ? (error.fault as EngineFault | KeyBoundFault) : FAILED;
    if (fault.kind === 'key_bound_reached') context.metrics.keyBoundHit(fault.bound, context.keyId);
    client.fail(toChatError(fault));
    if (error instanceof ApiError) return;
    // A fault has ended the call; for what nobody foresaw this does.
    context.log.error({ err: error, callId: context.call.callId }, 'stream failed');
    await context.call.end({ status: 'failure', reason: 'unforeseen' });
  }
}
