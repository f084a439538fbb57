import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { disturb, type Fault, freeze, kill } from '../fault.ts';
import { AGENT_APIS, APIS, type Api } from '../load/callRecord.ts';
import type { Random } from '../load/random.ts';
import type { LoadOptions } from '../load/startLoad.ts';

export const engines: CellTable = {
  'engine-kill': {
    breaks: 'kill -9 of one of two engine processes while streams run, back after 3 s',
    holds:
      'streams that had begun there end in an error event and cost nothing; everything else is served by the other',
    eventLog: 'embedded',
    run: (context) => killOne(context),
  },
  ...Object.fromEntries(AGENT_APIS.map((api) => [`engine-kill-${api}`, killUnder(api)])),
  'engine-lost': {
    breaks: 'the packets of one of two engine processes are lost for 8 s, with no word of it',
    holds: 'streams there end in an error event at the deadline, and soon all calls go to the other',
    eventLog: 'kafka',
    fault: disturb({ to: 'engines-1' }, { blackHole: true }),
    forMs: 8_000,
    load: { tokens: [1, 200] },
    ends: { ok: true, error_event: true, '500': true, '503': true },
    also(context, calls) {
      const failed = calls.filter(({ outcome }) => outcome !== 'ok').length;
      context.check(failed <= context.calls / 3, `${failed} calls failed though one engine was there`);
    },
  },
  'engine-freeze': {
    breaks: 'SIGSTOP of one of two engine processes under load; then its packets are lost, with no word of it',
    holds:
      'it is out within 12 s and back within 10; calls that heard nothing go elsewhere then, others end in an error event',
    eventLog: 'embedded',
    async run(context) {
      await loseOne(context, freeze('engines-1'));
      await loseOne(context, disturb({ to: 'engines-1' }, { blackHole: true }));
    },
  },
  'engines-all-gone': {
    breaks: 'every engine refuses connections for 4 s',
    holds: '503 service_unavailable without a charge, within 5 s of their return all is well',
    eventLog: 'embedded',
    fault: {
      async strike({ stack: { simulators } }) {
        await Promise.all(simulators.map((simulator) => simulator.become('refusing')));
      },
      async repair({ stack: { simulators } }) {
        await Promise.all(simulators.map((simulator) => simulator.become('serving')));
      },
    },
    forMs: 4_000,
    ends: { ok: true, error_event: true, '500': true, '503': true },
  },
  'engine-full': {
    breaks: 'one of two engine processes refuses every request with 503',
    holds: 'every call is tried once on the other and ends well',
    eventLog: 'embedded',
    async run(context) {
      await context.stack.simulators[0]?.become('draining');
      const calls = await context.startLoad({ calls: context.calls }).done;
      context.checkOutcomes(calls, { ok: true });
    },
  },
  'engine-resets': {
    breaks: 'one engine process resets one in eight requests before it says anything',
    holds: '999 of 1,000 calls end well on the other engine, and each is charged once',
    eventLog: 'kafka',
    async run(context) {
      await context.stack.simulators[0]?.addFaults([{ match: { everyNth: 8 }, fault: 'reset_before_headers' }]);
      const calls = await context.startLoad({ calls: context.calls }).done;
      context.checkOutcomes(calls, { ok: true, '500': context.calls / 1_000, '503': context.calls / 1_000 });
    },
  },
  'engine-slices': {
    breaks: 'all that engines say arrives in pieces of seven bytes',
    holds: 'every call ends well, whatever is cut in two',
    eventLog: 'kafka',
    fault: disturb({ to: 'engines' }, { sliceBytes: 7 }),
    forMs: 3_000,
    load: { tokens: [1, 10] },
    ends: { ok: true },
  },
  'engine-breaks-off': {
    breaks: 'a third of the answers break off after a drawn number of tokens, in five ways',
    holds: 'each of those ends in an error event, or 500 where it is no stream, and costs nothing',
    eventLog: 'kafka',
    run: breakAnswersOff,
  },
  ...Object.fromEntries(APIS.map((api) => [`engine-calls-no-tool-${api}`, callNoTool(api)])),
  'engine-stalls': {
    breaks: 'a tenth of the answers stop for ever after some tokens',
    holds: 'streams end in an error event at the deadline, a second more at most; the engine is told to stop',
    eventLog: 'embedded',
    run: stallAnswers,
  },
  'engine-lies': {
    breaks: 'half of the answers are not what they should be, in 22 ways',
    holds:
      'clients get what is well-formed or an error; a success has the counts that its client saw, or the row says unknown',
    eventLog: 'embedded',
    run: bendAnswers,
  },
};

function killUnder(api: Api): CellTable[string] {
  return {
    breaks: `kill -9 of one of two engine processes while calls of the API ${api} run, back after 3 s`,
    holds: 'streams that had begun there end in the error of their API and cost nothing; the other serves the rest',
    eventLog: 'embedded',
    run: (context) => killOne(context, { apis: [api] }),
  };
}

async function killOne(context: CellContext, load: Partial<LoadOptions> = {}): Promise<void> {
  const fault = kill('engines-1');
  let openAtKill = 0;
  const calls = await breakUnderLoad(context, {
    fault: {
      ...fault,
      async strike() {
        await context.stack.simulators[0]?.prepareKill();
        openAtKill = context.open;
        await fault.strike(context);
      },
    },
    forMs: 3_000,
    load: { tokens: [1, 300], ...load },
  });
  context.checkOutcomes(calls, { ok: true, error_event: openAtKill, '500': openAtKill });
}

/** The timeout of the fault stack's router. */
const FIRST_EVENT_MS = 6_000;
const BETWEEN_EVENTS_MS = 3_000;
const WHOLE_MS = 10_000;
/** Beyond a deadline, on a machine that has much to do. */
const SLACK_MS = 2_000;
/** Two checks of 2 s that are missed, one after the other, and one that may just have been answered. */
const OUT_WITHIN_MS = 12_000;
/** The breaker's pause, a check and a token. */
const BACK_WITHIN_MS = 10_000;
/** Engines of the process are named after it. */
const TARGET = /^engine-1\//;

/** Loses an engine process under load until the router has noticed, and brings it back. */
async function loseOne(context: CellContext, { strike, repair }: Fault): Promise<void> {
  const load = context.startLoad({ calls: context.calls / 2, tokens: [1, 200] });
  await load.untilSent(Math.floor(context.calls * (0.1 + context.random.share() * 0.1)));
  const openAtStrike = load.open;
  await strike(context);
  await context.until('the engine to be out, its breaker open', () => areOut(context, true), OUT_WITHIN_MS);
  await repair(context);
  await context.until('the engine to be back', () => areOut(context, false), BACK_WITHIN_MS);
  await context.repaired();
  const calls = await load.done;

  // A begun call cannot go elsewhere. Waiting ones cannot all do so, if no retry is left.
  context.checkOutcomes(calls, { ok: true, error_event: openAtStrike, '500': true });
  context.check(
    calls.every(({ isStream, outcome }) => !isStream || outcome !== '500'),
    'a stream that had no event yet was failed, though another engine was there',
  );
  const boundMs = (isStream: boolean): number => (isStream ? FIRST_EVENT_MS + BETWEEN_EVENTS_MS : WHOLE_MS) + SLACK_MS;
  const late = calls.filter(({ isStream, startedAt, endedAt }) => endedAt - startedAt > boundMs(isStream));
  context.check(late.length === 0, `${late.length} calls ended more than ${SLACK_MS} ms after their deadline`);
}

/** Whether every engine of the process is left out, or every one of them takes calls. */
async function areOut({ stack }: CellContext, isOut: boolean): Promise<boolean> {
  const found = (await stack.operator.listEngines()).filter(({ target }) => TARGET.test(target));
  return (
    found.length > 0 &&
    found.every(({ state, breaker, is_healthy: isHealthy }) =>
      isOut ? state === 'out' && breaker !== 'closed' && !isHealthy : state === 'ready' && isHealthy,
    )
  );
}

const BREAKS_OFF = [
  'reset_mid_stream',
  'close_without_done',
  'close_inside_event',
  'close_before_usage',
  'error_event',
];

async function breakAnswersOff(context: CellContext): Promise<void> {
  context.rules.enginesLie = true;
  const calls = await context.startLoad({
    calls: context.calls,
    tokens: [20, 60],
    directives: (random) => {
      const kind = draw(random, BREAKS_OFF);
      return random.share() < 1 / 3 ? `fault=${kind} after=${random.between(1, 15)}` : '';
    },
  }).done;
  // A whole answer can be tried on the other engine, and breaks off there as well.
  context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
  context.allowUnknownEndings(calls);
  const failed = calls.filter(({ outcome }) => outcome !== 'ok').length;
  context.check(failed > context.calls / 5, `only ${failed} calls broke off`);
}

/** How the refusal begins, whichever API words it. */
const NO_TOOL_CALLED = 'The model called no tool although tool_choice demands one.';

function callNoTool(api: Api): CellTable[string] {
  return {
    breaks: `half of the calls of the API ${api} demand a tool, and their model writes text instead`,
    holds: 'each of those is refused with the reason, shows none of its text and costs nothing; the others end well',
    eventLog: 'embedded',
    async run(context) {
      const calls = await context.startLoad({
        calls: context.calls,
        tokens: [5, 60],
        apis: [api],
        forcesTool: true,
        directives: (random) => (random.share() < 0.5 ? 'no_tool_call' : ''),
      }).done;
      context.checkOutcomes(calls, { ok: true, '400': true, error_event: true });
      const refused = calls.filter(({ outcome }) => outcome !== 'ok');
      context.check(refused.length > context.calls / 3, `only ${refused.length} models called no tool`);
      const others = refused.filter(({ error, deltas }) => !error?.startsWith(NO_TOOL_CALLED) || deltas > 0);
      context.check(others.length === 0, `${others.length} refusals have text or another reason: ${others[0]?.error}`);
    },
  };
}

const draw = <T>(random: Random, from: readonly T[]): T | undefined => from[random.between(0, from.length - 1)];

async function stallAnswers(context: CellContext): Promise<void> {
  const startedAt = Date.now();
  const calls = await context.startLoad({
    calls: context.calls,
    tokens: [20, 60],
    directives: (random) => (random.share() < 0.1 ? `fault=stall after=${random.between(1, 15)}` : ''),
  }).done;
  context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
  // A stream that began ends by its silence: it may have waited in the router before.
  const late = calls.filter(({ outcome, isStream, longestSilenceMs, startedAt: from, endedAt }) => {
    if (outcome === 'ok') return false;
    if (outcome === 'error_event') return longestSilenceMs > BETWEEN_EVENTS_MS + 1_000;
    return endedAt - from > (isStream ? BETWEEN_EVENTS_MS : WHOLE_MS) + 1_000;
  });
  context.check(late.length === 0, `${late.length} calls ended more than a second after their deadline`);
  context.check(
    calls.some(({ outcome }) => outcome === 'error_event'),
    'no stream stalled',
  );
  await context.untilEnginesStop(startedAt);
}

const LIES = [
  'no_usage',
  'usage_lower',
  'usage_negative',
  'usage_overflow',
  'invalid_json',
  'missing_choices',
  'early_empty_choices',
  'duplicate_finish',
  'huge_event',
  'abort',
  'unknown_finish',
  'http_500_html',
  'http_200_error',
  'http_429',
  'http_401',
  'wrong_content_type',
  'wrong_content_length',
  'truncated_gzip',
  'trailing_bytes',
  'split_utf8',
  'comments',
  'crlf',
];

async function bendAnswers(context: CellContext): Promise<void> {
  context.rules.enginesLie = true;
  const calls = await context.startLoad({
    calls: context.calls,
    tokens: [5, 60],
    directives: (random) => (random.share() < 0.5 ? `fault=${draw(random, LIES)}` : ''),
  }).done;
  context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
  context.allowUnknownEndings(calls);
  context.check((await context.ask('/svc/key')).status === 200, 'the stack does not answer any more');
}
