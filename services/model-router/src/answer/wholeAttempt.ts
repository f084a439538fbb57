import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import type { TakenBytes } from '@turnpike/request-reading/shares/bodyMemory';
import type { EngineFault } from '../api/inferenceFault.ts';
import type { Engine } from '../engines/engine.ts';
import type { EngineExchange } from '../engines/engineExchange.ts';
import { type EngineErrorKind, isUntaken } from '../engines/terms/attemptResult.ts';
import type { Attempt } from '../placement/placer.ts';
import { type AnswerDependencies, type Call, ENGINE_FAILED } from './call.ts';
import { type AttemptEnd, type AttemptOn, dispatchCall } from './runOnEngines.ts';

/** The most a whole answer can rightly take: 2,048 vectors, or a completion of the longest kind. An engine that sends more has gone wrong. */
const MAX_ANSWER_BYTES = 64 * 1_048_576;

/** The part of the memory that a call has: its answer is counted there until the call is over. */
type AnswerMemory = Pick<TakenBytes, 'take' | 'giveBack'>;

/**
 * Attempts at a whole answer, all within the time of one. A client that leaves changes nothing: the engine finishes what it
 * began, and that is charged.
 */
export function attemptWhole({ timeouts }: AnswerDependencies, call: Call, room: AnswerMemory): AttemptOn {
  const deadline = performance.now() + timeouts.wholeMs;
  return async (attempt) => {
    const timeoutMs = Math.max(1, deadline - performance.now());
    const reply = await fetchReply(call, attempt, { room, timeoutMs });
    const end =
      reply.kind === 'reply'
        ? readReply(call, attempt.engine, reply)
        : failed(reply.fault, {
            broken: reply.broken,
            // A timer may fire up to a millisecond before its time: the clock alone would leave room for one more engine.
            isFinal: reply.broken === 'timeout' || performance.now() >= deadline,
          });
    if (end.kind !== 'whole') room.giveBack(reply.size);
    return end;
  };
}

/** `size` is how many bytes came. */
type Reply = { size: number } & (
  | { kind: 'reply'; status: number; bytes: Buffer; exchange: EngineExchange | undefined }
  | { kind: 'fault'; fault: EngineFault; broken: EngineErrorKind | undefined }
);

function fetchReply(
  call: Call,
  attempt: Attempt,
  { room, timeoutMs }: { room: AnswerMemory; timeoutMs: number },
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let status = 0;
    let exchange: EngineExchange | undefined;
    const fail = (fault: EngineFault, broken?: EngineErrorKind): void => {
      deadline.stop();
      resolve({ kind: 'fault', size, fault, broken });
    };
    const giveUp = (fault: EngineFault, broken?: EngineErrorKind): void => {
      exchange?.abort();
      fail(fault, broken);
    };
    const deadline = startDeadline(timeoutMs, () => giveUp(ENGINE_FAILED, 'timeout'));
    attempt.exchange = { leftOut: () => giveUp(ENGINE_FAILED, 'left_out'), cutUnread() {} };
    exchange = dispatchCall(call, attempt, {
      onHeaders: (code) => {
        status = code;
      },
      onData: (chunk) => {
        if (!room.take(chunk.length)) {
          giveUp({ kind: 'no_room_for_answer' });
          return;
        }
        chunks.push(Buffer.from(chunk));
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) giveUp(ENGINE_FAILED, 'reset');
      },
      onEnd: () => {
        deadline.stop();
        resolve({
          kind: 'reply',
          exchange,
          size,
          status,
          bytes: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks),
        });
      },
      onError: (kind) => fail(isUntaken(kind) ? { kind: 'no_healthy_engine' } : ENGINE_FAILED, kind),
      onUnforeseen: (error) => {
        deadline.stop();
        reject(error);
      },
    });
  });
}

function readReply(
  call: Call,
  engine: Engine,
  { status, bytes, exchange }: Extract<Reply, { kind: 'reply' }>,
): AttemptEnd {
  const { operation, request, model, callId, chargeOf, log } = call;
  const toFault = (code: number) => failed(engine.dialect.toFault(code, bytes, call));
  try {
    if (status !== 200) return toFault(status);
    const { id: canonicalModel, isCacheCapable } = model;
    const { echo } = request;
    const options = { callId, engine, canonicalModel, echo, isCacheCapable, chargeOf };
    const answer = operation.editWhole(bytes, options);
    if (answer.kind === 'error') return toFault(answer.status);
    // The next answer on its connection may be of another call, or is one.
    if (answer.kind === 'broken' || answer.kind === 'foreign') exchange?.abort();
    if (answer.kind === 'broken') return failed(ENGINE_FAILED);
    if (answer.kind === 'foreign') {
      log().warn(
        { callId, engine: engine.id, reason: 'engine_answered_another_call' },
        'engine did not answer as it should',
      );
      return failed(ENGINE_FAILED);
    }
    if (request.isToolForced && !answer.hasToolCall) return failed({ kind: 'forced_tool_not_called' });
    return { kind: 'whole', usage: answer.usage, rest: answer.payload };
  } finally {
    exchange?.release();
  }
}

const failed = (
  fault: EngineFault,
  { broken, isFinal = false }: { broken?: EngineErrorKind | undefined; isFinal?: boolean } = {},
): AttemptEnd => ({ kind: 'failed', fault, reason: fault.kind, broken, isFinal, hasSent: false });
