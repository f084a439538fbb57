import { Refused } from '@turnpike/console-api/callRoute';
import { computeCharge } from '@turnpike/money/price';
import { useEffect, useRef, useState } from 'react';
import { type Model, toTextPrices } from '../models/readModels.ts';
import { useWorkspace } from '../shell/workspace.tsx';
import { PlaygroundKey } from './PlaygroundKey.ts';
import { type Chunk, streamChat, type Turn } from './streamChat.ts';

/** One answer of a model, as far as it has come. */
export interface Answer {
  text: string;
  reasoning: string;
  /** Chunks with text, each about a token. */
  chunks: number;
  state: 'streaming' | 'whole' | 'stopped' | 'refused' | 'failed';
  /** The answer has as many tokens as the call allows. */
  isCut: boolean;
  callId?: string;
  /** Nano-dollars: the charge that the last chunk states, or an estimate of the output so far. */
  cost: { nano: bigint; isEstimate: boolean };
  error?: Error;
}

export interface Exchange {
  question: string;
  answer: Answer;
}

interface Settings {
  system: string;
  maxTokens: number;
  temperature: number;
}

const NANO_PER_USD = 1e9;
const EMPTY: Answer = {
  text: '',
  reasoning: '',
  chunks: 0,
  state: 'streaming',
  isCut: false,
  cost: { nano: 0n, isEstimate: true },
};

/** The conversation of a playground. Its key is revoked, and its call stopped, when the page is left. */
export function useChat() {
  const workspace = useWorkspace();
  const [key] = useState(() => new PlaygroundKey(workspace));
  const [exchanges, setExchanges] = useState<Exchange[]>([]);
  const running = useRef<AbortController>(undefined);
  useEffect(
    () => () => {
      running.current?.abort();
      key.revoke();
    },
    [key],
  );
  const change = (edit: (answer: Answer) => Answer) =>
    setExchanges((all) => all.map((one, nth) => (nth < all.length - 1 ? one : { ...one, answer: edit(one.answer) })));

  async function send(question: string, model: Model, { system, maxTokens, temperature }: Settings): Promise<void> {
    const controller = new AbortController();
    running.current = controller;
    const { signal } = controller;
    const messages: Turn[] = [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...exchanges.flatMap(({ question: asked, answer }): Turn[] =>
        answer.text === ''
          ? []
          : [
              { role: 'user', content: asked },
              { role: 'assistant', content: answer.text },
            ],
      ),
      { role: 'user', content: question },
    ];
    setExchanges((all) => [...all, { question, answer: EMPTY }]);
    try {
      const secret = await key.take();
      // The page may have been left while the key was made.
      if (signal.aborted) key.revoke();
      await streamChat(
        workspace,
        { secret, body: { model: model.id, messages, max_tokens: maxTokens, temperature }, signal },
        {
          onCallId: (callId) => change((answer) => ({ ...answer, callId })),
          onChunk: (chunk) => change((answer) => addChunk(answer, chunk, model)),
        },
      );
      change((answer) => ({ ...answer, state: 'whole' }));
    } catch (error) {
      change((answer) =>
        signal.aborted
          ? { ...answer, state: 'stopped' }
          : { ...answer, state: isRefusal(error) ? 'refused' : 'failed', error: error as Error },
      );
    }
  }

  return {
    exchanges,
    isStreaming: exchanges.at(-1)?.answer.state === 'streaming',
    send,
    stop: () => running.current?.abort(),
    clear: () => setExchanges([]),
  };
}

/** A refused call was never begun. An event of an error comes with status 200. */
const isRefusal = (error: unknown): boolean => error instanceof Refused && error.status >= 400;

/** Adds a chunk. The estimate counts each chunk with text as a token of output, and leaves the prompt out. */
function addChunk(answer: Answer, { choices: [choice], usage }: Chunk, model: Model): Answer {
  const { content, reasoning } = choice?.delta ?? {};
  const chunks = answer.chunks + (content || reasoning ? 1 : 0);
  const output = { promptTokens: 0, cachedPromptTokens: 0, completionTokens: chunks, images: 0 };
  return {
    ...answer,
    text: answer.text + (content ?? ''),
    reasoning: answer.reasoning + (reasoning ?? ''),
    chunks,
    isCut: answer.isCut || choice?.finish_reason === 'length',
    cost:
      usage?.cost == null
        ? { nano: computeCharge(output, toTextPrices(model)), isEstimate: true }
        : { nano: BigInt(Math.round(usage.cost * NANO_PER_USD)), isEstimate: false },
  };
}
