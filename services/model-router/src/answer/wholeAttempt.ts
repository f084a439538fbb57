import type { EngineFault } from '../api/inferenceFault.ts';
import type { EngineExchange } from '../fleet/dispatchToEngine.ts';
import type { Engine } from '../fleet/engine.ts';
import type { Attempt, EngineErrorKind } from '../fleet/terms/attempt.ts';
import type { Dialect } from '../fleet/terms/dialect.ts';
import type { AttemptEnd, AttemptOn, AttemptOptions } from './attempt.ts';
import type { Call, House } from './call.ts';
import { Deadline, dispatchCall } from './exchange.ts';
import { ENGINE_FAILED } from './outcome.ts';

/** The most a whole answer can rightly take: 2,048 vectors, or a completion of the longest kind. An engine that sends more has gone wrong. */
const MAX_ANSWER_BYTES = 64 * 1_048_576;

/**
 * Attempts at a whole answer, all within the time of one. A client that leaves changes nothing: the engine finishes what it
 * began, and that is charged (decisions, What is billed).
 */
export function attemptWhole({ timeouts }: House, call: Call): AttemptOn {
  const deadline = performance.now() + timeouts.wholeMs;
  return async (attempt, options) => {
    const timeoutMs = Math.max(1, deadline - performance.now());
    const reply = await fetchReply(call, attempt, { ...options, timeoutMs });
    if (reply.kind === 'reply') return readReply(call, attempt.engine.dialect, reply);
    return failed(reply.fault, { broken: reply.broken, isFinal: performance.now() >= deadline });
  };
}

type Reply =
  | { kind: 'reply'; status: number; bytes: Buffer }
  | { kind: 'fault'; fault: EngineFault; broken: EngineErrorKind };

function fetchReply(
  call: Call,
  { engine, leaving }: Attempt<Engine>,
  { timeoutMs, ...options }: AttemptOptions & { timeoutMs: number },
): Promise<Reply> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let status = 0;
    let exchange: EngineExchange | undefined;
    const end = (reply: Reply): void => {
      deadline.clear();
      resolve(reply);
    };
    const giveUp = (broken: EngineErrorKind): void => {
      exchange?.abort();
      end({ kind: 'fault', fault: ENGINE_FAILED, broken });
    };
    const deadline = new Deadline(() => giveUp('timeout'));
    leaving.addEventListener('abort', () => giveUp('left_out'));
    deadline.set(timeoutMs);
    exchange = dispatchCall(
      call,
      engine,
      { ...options, headersTimeoutMs: timeoutMs },
      {
        onHeaders: (code) => {
          status = code;
        },
        onData: (chunk) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES) giveUp('reset');
        },
        onEnd: () => end({ kind: 'reply', status, bytes: Buffer.concat(chunks) }),
        onError: (kind) =>
          end({
            kind: 'fault',
            fault: kind === 'refused' ? { kind: 'no_healthy_engine' } : ENGINE_FAILED,
            broken: kind,
          }),
      },
    );
  });
}

function readReply(
  { operation, request, model }: Call,
  { toFault }: Dialect,
  { status, bytes }: { status: number; bytes: Buffer },
): AttemptEnd {
  if (status !== 200) return failed(toFault(status, bytes.toString('utf8')));
  const answer = operation.editWhole(bytes, { canonicalModel: model.id, isCacheCapable: model.isCacheCapable });
  if (answer.kind === 'error') return failed(toFault(answer.status, bytes.toString('utf8')));
  if (answer.kind === 'broken') return failed(ENGINE_FAILED);
  if (request.isToolForced && !answer.hasToolCall) return failed({ kind: 'forced_tool_not_called' });
  return { kind: 'whole', usage: answer.usage, rest: answer.payload };
}

const failed = (
  fault: EngineFault,
  { broken, isFinal = false }: { broken?: EngineErrorKind; isFinal?: boolean } = {},
): AttemptEnd => ({ kind: 'failed', fault, reason: fault.kind, broken, isFinal, hasSent: false });
