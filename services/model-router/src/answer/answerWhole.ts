import type { EngineFault } from '../api/chatFault.ts';
import type { EngineErrorKind, EngineExchange } from '../fleet/dispatchToEngine.ts';
import type { Engine } from '../fleet/engine.ts';
import { toEngineFault } from '../fleet/vllm/toEngineFault.ts';
import type { Operation } from '../request/inferenceRequest.ts';
import type { Attempt, AttemptOptions, CallContext } from './callContext.ts';
import { cutSlowReader } from './chunks/cutSlowReader.ts';
import { Deadline } from './deadline.ts';
import { dispatchCall } from './dispatchCall.ts';
import { runOnEngines } from './runOnEngines.ts';
import { editChatAnswer } from './whole/editChatAnswer.ts';
import { editCompletionAnswer } from './whole/editCompletionAnswer.ts';
import { editEmbeddingAnswer } from './whole/editEmbeddingAnswer.ts';
import type { AnswerOptions, WholeAnswer } from './whole/wholeAnswer.ts';

/** The most a whole answer can rightly take: 2,048 vectors, or a completion of the longest kind. An engine that sends more has gone wrong. */
const MAX_ANSWER_BYTES = 64 * 1_048_576;
const FAILED: EngineFault = { kind: 'engine_failed' };

const EDITORS: Record<Operation, (bytes: Buffer, options: AnswerOptions) => WholeAnswer> = {
  chat: editChatAnswer,
  completions: editCompletionAnswer,
  embeddings: editEmbeddingAnswer,
};

/**
 * Answers a call whole. A client that leaves changes nothing: the engine finishes what it began, and that is charged
 * (decisions, What is billed).
 */
export async function answerWhole(context: CallContext): Promise<void> {
  const deadline = performance.now() + context.timeouts.wholeMs;
  await runOnEngines(context, async (engine, options) => {
    const reply = await fetchAnswer(context, engine, {
      ...options,
      timeoutMs: Math.max(1, deadline - performance.now()),
    });
    const isFinal = performance.now() >= deadline;
    if (reply.kind === 'fault') return { outcome: 'failed', fault: reply.fault, broken: reply.broken, isFinal };
    const attempt = await deliver(context, reply);
    const { engines, workspaceId: caller } = context;
    if (attempt.outcome === 'ended') engines.report(engine, { kind: 'completed', caller });
    return attempt;
  });
}

type Reply =
  | { kind: 'reply'; status: number; bytes: Buffer }
  | { kind: 'fault'; fault: EngineFault; broken: EngineErrorKind };

function fetchAnswer(
  context: CallContext,
  engine: Engine,
  { timeoutMs, signal, ...attempt }: AttemptOptions & { timeoutMs: number },
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
      end({ kind: 'fault', fault: FAILED, broken });
    };
    const deadline = new Deadline(() => giveUp('timeout'));
    signal.addEventListener('abort', () => giveUp('left_out'));
    deadline.set(timeoutMs);
    exchange = dispatchCall(
      context,
      engine,
      { ...attempt, headersTimeoutMs: timeoutMs },
      {
        onHeaders: (code) => {
          status = code;
        },
        onData: (chunk) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES) giveUp('timeout');
        },
        onEnd: () => end({ kind: 'reply', status, bytes: Buffer.concat(chunks) }),
        onError: (kind) =>
          end({
            kind: 'fault',
            fault: kind === 'refused' ? { kind: 'no_healthy_engine' } : FAILED,
            broken: kind,
          }),
      },
    );
  });
}

async function deliver(
  { request, model, call, res, headers, timeouts }: CallContext,
  { status, bytes }: { status: number; bytes: Buffer },
): Promise<Attempt> {
  const failed = (fault: EngineFault, isFinal = false): Attempt => ({
    outcome: 'failed',
    fault,
    broken: undefined,
    isFinal,
  });
  if (status !== 200) return failed(toEngineFault(status, bytes.toString('utf8')));
  const answer = EDITORS[request.operation](bytes, { canonicalModel: model.id, isCacheCapable: model.isCacheCapable });
  if (answer.kind === 'error') return failed(toEngineFault(answer.status, bytes.toString('utf8')));
  if (answer.kind === 'broken') return failed(FAILED);
  if (request.isToolForced && !answer.hasToolCall) return failed({ kind: 'forced_tool_not_called' });
  if (!answer.usage) {
    // No count, no charge, and no answer either: what cannot be accounted for is not handed out.
    await call.end({ status: 'unknown', reason: 'engine_gave_no_count' });
    return failed(FAILED, true);
  }
  if (!(await call.end({ status: 'success', reason: 'completed', usage: answer.usage }))) return failed(FAILED, true);
  if (!res.destroyed) {
    res.writeHead(200, {
      ...headers,
      'content-type': 'application/json; charset=utf-8',
      'content-length': answer.payload.length,
    });
    res.end(answer.payload);
    cutSlowReader(res, timeouts.slowReaderMs);
  }
  return { outcome: 'ended', counted: answer.usage };
}
