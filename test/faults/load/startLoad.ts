import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import type { Api, CallRecord } from './callRecord.ts';
import type { Random } from './random.ts';
import { type CallPlan, type Cut, sendCall } from './sendCall.ts';

const TICK_MS = 10;
const CALLS_PER_SECOND = 60;
const OPEN_AT_MOST = 60;

export interface LoadKey {
  keyId: string;
  apiKey: string;
}

export interface LoadOptions {
  calls: number;
  /** The pace, spread evenly: about half of what two cores can do where it is not given. */
  perSecond?: number;
  /** Makes up within a second for what could not be sent in time; otherwise that is given up. */
  keepsPace?: boolean;
  /** Most calls under way at once: on a busy machine the pace follows the machine. */
  openAtMost?: number;
  /** Completion tokens of each call, from and to. */
  tokens?: [number, number];
  /** Time between two tokens of the engine; its own where it is not given. */
  interTokenMs?: number;
  /** Part of the calls that are streams; half where it is not given. */
  streamShare?: number;
  /** Sent as it is; the model's own limit where it is not given. */
  maxTokens?: number;
  /** Returns the point at which the client cuts a call; undefined for no cut. */
  cut?: (random: Random) => Cut | undefined;
  /**
   * Sends the same chat every time, with this number in it and without directives. Each byte is a token, so that the bound of its worst
   * case is exact.
   */
  exactly?: number;
  /** More directives to the engine, for instance a fault. */
  directives?: (random: Random) => string;
  keys?: readonly LoadKey[];
  /** One model; all of them where it is not given. */
  model?: string;
  /** Whether every call has a tool that the model has to call. */
  forcesTool?: boolean;
  /** The APIs in which the chats are said; the chat API alone where it is not given. */
  apis?: readonly Api[];
}

/** Calls under way. */
export interface Load {
  /** Those that have ended so far. */
  readonly records: readonly CallRecord[];
  /** Sent and not ended. */
  readonly open: number;
  readonly sent: number;
  /** Resolves when so many have been sent. */
  untilSent(count: number): Promise<void>;
  /** Resolves when all have ended. */
  done: Promise<readonly CallRecord[]>;
  /** Sends no more than have been sent. */
  stop(): void;
}

export interface LoadTarget {
  baseUrl: string;
  models: readonly string[];
  keys: readonly LoadKey[];
  random: Random;
}

/** Sends chats, the same ones for the same seed: half of them streams, over all keys and models. */
export function startLoad(target: LoadTarget, options: LoadOptions): Load {
  const { calls, perSecond = CALLS_PER_SECOND, keepsPace = false, openAtMost = OPEN_AT_MOST } = options;
  const dispatcher = new Agent({ connections: null, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const records: CallRecord[] = [];
  const running = new Set<Promise<void>>();
  let sent = 0;
  let isStopped = false;

  function send(): void {
    const plan = planCall(target, options);
    sent += 1;
    const call = sendCall(plan, { baseUrl: target.baseUrl, dispatcher }).then((record) => {
      records.push(record);
      running.delete(call);
    });
    running.add(call);
  }

  async function run(): Promise<readonly CallRecord[]> {
    let [allowance, lookedAt] = [1, performance.now()];
    while (sent < calls && !isStopped) {
      const now = performance.now();
      const mostAtOnce = keepsPace ? perSecond : Math.max(1, perSecond / 10);
      const elapsedMs = Math.max(now - lookedAt, 1);
      allowance = Math.min(allowance + (elapsedMs / 1_000) * perSecond, mostAtOnce);
      lookedAt = now;
      for (; allowance >= 1 && sent < calls && running.size < openAtMost; allowance -= 1) send();
      if (sent < calls) await pause(TICK_MS);
    }
    while (running.size > 0) await Promise.all(running);
    await dispatcher.destroy();
    return records;
  }

  return {
    records,
    get open() {
      return running.size;
    },
    get sent() {
      return sent;
    },
    async untilSent(count) {
      while (sent < count && !isStopped) await pause(TICK_MS);
    },
    done: run(),
    stop() {
      isStopped = true;
    },
  };
}

function planCall({ models, keys: allKeys, random }: LoadTarget, options: LoadOptions): CallPlan {
  const { tokens: [least, most] = [1, 40], streamShare = 0.5, maxTokens, interTokenMs, keys = allKeys } = options;
  const key = keys[random.between(0, keys.length - 1)];
  const model = options.model ?? models[random.between(0, models.length - 1)];
  if (!key || model === undefined) throw new Error('a load needs a key and a model');
  const isStream = random.share() < streamShare;
  const directives = [
    `tokens=${random.between(least, most)}`,
    ...(interTokenMs === undefined ? [] : [`itl_ms=${interTokenMs}`]),
    options.directives?.(random) ?? '',
  ];
  return {
    ...key,
    model,
    isStream,
    wantsUsage: random.share() < 0.5,
    content:
      options.exactly !== undefined
        ? toExactContent(options.exactly)
        : `Call ${random.between(0, 999_999)}, größer und 大きい [[sim: ${directives.join(' ').trim()}]]`,
    maxTokens,
    forcesTool: options.forcesTool ?? false,
    cut: options.cut?.(random),
    api: options.apis?.[random.between(0, options.apis.length - 1)] ?? 'chat',
  };
}

/** Letters and dots in turn: the engines' tokenizer makes each a token. */
function toExactContent(number: number): string {
  return `n.${String(number).padStart(3, '0').split('').join('.')}`;
}
