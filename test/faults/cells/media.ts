import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findFreePorts } from '@turnpike/local-stack/findFreePorts';
import { request } from 'undici';
import type { CellTable } from '../cell.ts';
import type { AllowedMediaOutcomes, CellContext } from '../cellContext.ts';
import { disturb, end, type Fault, kill } from '../fault.ts';
import { countOutcomes } from '../load/callRecord.ts';
import { isOverloaded, type MediaRecord } from '../load/media/mediaRecord.ts';
import type { MediaLoad, MediaLoadOptions } from '../load/media/startMedia.ts';
import { MEDIA_MODELS } from '../stack/faultCatalog.ts';
import type { LinkChoice } from '../stack/links.ts';
import { forgetPeak, readPeakMib } from '../stack/peakMemory.ts';
import { eraseMedia } from './mediaErasure.ts';
import { loseFile } from './redis.ts';

/**
 * Outcomes of a broken stack: an answer in time, or a refusal. A job that died with its worker twice has failed, at no charge.
 */
export const REFUSED = {
  '500': true,
  '502': true,
  '503': true,
  '504': true,
  broken: true,
} satisfies AllowedMediaOutcomes;

const TO_STORE: LinkChoice = { from: 'media-jobs', to: 's3' };
/** Nothing reaches the object store: open connections are reset, and new ones refused. */
const storeAway: Fault = {
  ...disturb(TO_STORE, { refuse: true }),
  async strike({ stack: { links } }) {
    await links.become(TO_STORE, { refuse: true });
    links.reset(TO_STORE);
  },
};

export const media: CellTable = {
  'media-healthy': {
    breaks: 'nothing, under images, speech and transcripts that are waited for, and jobs of every kind',
    holds: 'every call ends well, unless all decoders are busy, which is said; it is charged what was measured',
    eventLog: 'embedded',
    run: serve,
  },
  'media-workers': {
    breaks:
      'of every five submits one answer is lost, one of two workers is killed ten times, the other is frozen twice beyond its lease, backends forget their jobs five times, and the object store is away for 5 s, or 10 minutes with --full',
    holds: 'each job ends once and is charged once; nothing is left at the backends',
    eventLog: 'embedded',
    serviceSettings: {},
    s3: true,
    run: breakWorkers,
  },
  'media-owner-away': {
    breaks: 'one of two workers is frozen for 40 s, longer than an owner may live, while it has jobs',
    holds: 'the other worker ends and charges them, and the first one holds nothing for them once it goes on',
    eventLog: 'embedded',
    serviceSettings: {},
    run: haveOwnerAway,
  },
  'media-restart': {
    breaks: 'media-jobs is ended by SIGTERM and started again three times, as by a deployment',
    holds: 'what was under way ends well, and so does every job; only what comes meanwhile is refused',
    eventLog: 'embedded',
    run: (context) =>
      breakMedia(context, {
        fault: end('media-jobs'),
        forMs: 200,
        times: 3,
        // So few that most of them do not come while it ends.
        perSecond: 3,
        ends: { ok: true, '503': true },
      }),
  },
  'media-store-away': {
    breaks: 'the object store refuses every connection for 8 s',
    holds: 'jobs wait for it; what is waited for is answered or refused',
    eventLog: 'embedded',
    serviceSettings: {},
    s3: true,
    run: (context) =>
      breakMedia(context, {
        fault: storeAway,
        forMs: 8_000,
        ends: { ok: true, ...REFUSED },
      }),
  },
  'media-postgres-kill': {
    breaks: 'kill -9 of Postgres three times, back after a second',
    holds: 'a job that a client was told of goes on and ends well; new calls get 503',
    eventLog: 'embedded',
    run: (context) =>
      breakMedia(context, {
        fault: kill('postgres'),
        forMs: 1_000,
        times: 3,
        ends: { ok: true, failed: true, ...REFUSED },
      }),
  },
  'media-redis-empty': {
    breaks: 'kill -9 of Redis, back after 2 s without its file, while jobs are open',
    holds: 'the holds of open jobs are there again, each job is charged once, and nothing is held in the end',
    eventLog: 'embedded',
    notOnCluster: 'a replica has what the file lacks and takes over',
    run: (context) => breakMedia(context, { fault: loseFile, forMs: 2_000, ends: { ok: true, ...REFUSED } }),
  },
  'media-ledger-away': {
    breaks: 'kill -9 of the ledger, and with it of the event log, for 8 s',
    holds: 'jobs end without it, and are in the ledger once it is back',
    eventLog: 'embedded',
    run: (context) =>
      breakMedia(context, { fault: kill('usage-ledger'), forMs: 8_000, ends: { ok: true, ...REFUSED } }),
  },
  'media-broker-away': {
    breaks: 'kill -9 of Kafka for 5 s',
    holds: 'every call ends well, and its event is in the ledger once Kafka is back',
    eventLog: 'kafka',
    run: (context) => breakMedia(context, { fault: kill('kafka'), forMs: 5_000, ends: { ok: true, ...REFUSED } }),
  },
  'media-repeated': {
    breaks:
      'the object store answers media-jobs 2.8 s later, Postgres 200 ms; clients give up after 2.5 s and send the call again, as the usual clients do',
    holds: 'each call has one job and one charge, however often it was sent',
    eventLog: 'embedded',
    serviceSettings: {},
    s3: true,
    run: repeatCalls,
  },
  'media-lost-answers': {
    breaks:
      'two workspaces order clips and images in the same words, on replicas that begin two at once; answers to orders come late, are lost, or are lost before anything has begun',
    holds: 'each client holds a render of its own, of what it ordered; each is charged once, and none is held twice',
    eventLog: 'embedded',
    serviceSettings: {},
    run: loseAnswers,
  },
  'media-corrupt': {
    breaks:
      'what backends make is empty, half, a page, of another kind, without content, or without an end: 22 ways, thrice each',
    holds: 'none is completed or charged, and the process has at most 64 MiB more',
    eventLog: 'embedded',
    run: corrupt,
  },
  'media-erasure': {
    breaks: 'the object store fails a third of its deletes, and is away as what was made is to be removed',
    holds:
      'clips are there for 24 hours; before 48 each of them, its prompt and the key of that are gone from everywhere, and that is recorded',
    eventLog: 'embedded',
    serviceSettings: {},
    s3: true,
    run: (context) => eraseMedia(context, { link: TO_STORE, away: storeAway }),
  },
  'media-end-races': {
    breaks: 'jobs are looked at, deleted, come to their deadline and expire about when they are completed',
    holds: 'one of them wins: what was cancelled or was late costs nothing, what was completed is charged',
    eventLog: 'embedded',
    serviceSettings: { 'media-jobs': { LIMITS: { CANCELLED_MINUTES_PER_KEY: 100_000 } } },
    run: raceEnds,
  },
};

/** A tenth of the calls that are sent where they are chats: 100, or 1,000 with `--full`. */
const countCalls = ({ calls }: CellContext): number => Math.ceil(calls / 10);

/** About what two cores decode. */
const UNHURRIED = { perSecond: 5 };

async function serve(context: CellContext): Promise<void> {
  const calls = await context.startMedia({ ...UNHURRIED, calls: countCalls(context) }).done;
  noteEnds(context, calls);
  context.checkMediaOutcomes(
    calls.filter((call) => !isOverloaded(call)),
    { ok: true },
  );
  await context.untilMediaIsOver();
}

interface MediaBreakage {
  fault: Fault;
  forMs: number;
  times?: number;
  perSecond?: number;
  ends: AllowedMediaOutcomes;
}

/** Makes the cell's media calls, and breaks and mends the stack on the way. */
export async function breakMedia(
  context: CellContext,
  { fault, forMs, times = 1, perSecond, ends }: MediaBreakage,
): Promise<void> {
  const calls = countCalls(context);
  const load = context.startMedia({ calls, ...(perSecond !== undefined && { perSecond }) });
  for (let round = 0; round < times; round += 1) {
    await load.untilSent(Math.floor(calls * ((round + 0.2 + context.random.share() * 0.3) / times)));
    await fault.strike(context);
    await pause(forMs);
    await fault.repair(context);
    await context.repaired();
  }
  const records = await load.done;
  noteEnds(context, records);
  context.checkMediaOutcomes(records, ends);
  context.check(
    records.some(({ outcome }) => outcome === 'ok'),
    'no call ended well',
  );
  await context.untilMediaIsOver();
  await context.untilUploadsAreGone();
}

/** Each way: an answer comes twice as much later. */
const SLOW: [LinkChoice, number][] = [
  [TO_STORE, 1_400],
  [{ from: 'media-jobs', to: 'postgres' }, 100],
];
const GIVES_UP = {
  // Speech and transcripts that are waited for make no job: each of their repeats is a call of its own.
  kinds: ['video', 'image job', 'speech job', 'video', 'transcript job'],
  retries: { most: 8, patienceMs: 2_500 },
  // Clips wait for their turn while others are stored slowly.
  patienceMs: 300_000,
  perSecond: 3,
} satisfies Partial<MediaLoadOptions>;

async function repeatCalls(context: CellContext): Promise<void> {
  const { links } = context.stack;
  await Promise.all(SLOW.map(([link, delayMs]) => links.become(link, { delayMs })));
  const records = await context.startMedia({ ...GIVES_UP, calls: countCalls(context) }).done;
  await Promise.all(SLOW.map(([link]) => links.become(link, {})));
  await context.repaired();
  noteEnds(context, records);
  const repeats = records.reduce((sum, { repeats: each }) => sum + each, 0);
  context.notes.push(`${repeats} repeats`);
  context.check(repeats > records.length / 4, 'hardly any call was repeated');
  context.checkMediaOutcomes(records, { ok: true, ...REFUSED });
  await context.untilMediaIsOver();
  await context.untilUploadsAreGone();
}

function noteEnds(context: CellContext, records: readonly MediaRecord[]): void {
  const ends = records.map(({ outcome, error }) => ({
    outcome: error === undefined ? outcome : `${outcome} (${error.split(':')[0]})`,
  }));
  const counts = [...countOutcomes(ends)].map(([outcome, count]) => `${count} ${outcome}`);
  context.notes.push(`media calls: ${counts.join(', ')}`);
}

/** For 1,000 jobs; as many fewer as there are fewer jobs. */
const FOR_1000 = { kills: 100, freezes: 20, restarts: 50 };
const LOST_ANSWERS = 0.2;
const ALIVE_MS: [number, number] = [500, 2_000];
const MOSTLY_JOBS = {
  kinds: ['video', 'image job', 'speech job', 'video', 'transcript job', 'images', 'video', 'image job', 'speech'],
  perSecond: 20,
} satisfies Partial<MediaLoadOptions>;
/** Longer than a worker's lease of a job. */
const FROZEN_MS = 17_000;
const THAWED_MS = 2_000;
const FORGETS_EVERY_MS: [number, number] = [2_000, 6_000];
const CREATES: Record<string, string> = {
  [MEDIA_MODELS.image.id]: 'POST /v1/images/generations',
  [MEDIA_MODELS.video.id]: 'POST /v1/videos',
  [MEDIA_MODELS.speech.id]: 'POST /v1/audio/speech',
  [MEDIA_MODELS.transcript.id]: 'POST /v1/audio/transcriptions',
};
const SECOND_WORKER = 'media-jobs-second';
/** The store goes away when most jobs have been made: without it none is. */
const STORE_AWAY_AFTER = 0.9;
const STORE_AWAY_MS = { ofMany: 600_000, ofFew: 5_000 };
const MENDED_WITHIN_MS = 150_000;
/** Why a job may fail: its attempts were lost, or there was no store for as long as it may take. */
const OUTSIDE_FAULTS = new Set(['backend_lost', 'timed_out', 'storage_unavailable']);

async function breakWorkers(context: CellContext): Promise<void> {
  const { random } = context;
  const { parts, mediaBackends } = context.stack;
  const calls = countCalls(context);
  const timesOf = (what: keyof typeof FOR_1000): number => Math.ceil((FOR_1000[what] * calls) / 1_000);
  await startSecondWorker(context);
  for (const [index, backend] of mediaBackends.entries())
    await backend.addFaults([
      {
        match: { route: CREATES[backend.model], probability: LOST_ANSWERS },
        fault: 'answer_lost',
        seed: String(index + 1),
      },
    ]);
  const loads: MediaLoad[] = [];
  const awayMs = calls < 1_000 ? STORE_AWAY_MS.ofFew : STORE_AWAY_MS.ofMany;
  const haveStoreAway = async (): Promise<void> => {
    await storeAway.strike(context);
    await pause(awayMs);
    await storeAway.repair(context);
  };
  let storeBack: Promise<void> | undefined;
  const killing = async (): Promise<void> => {
    const kills = timesOf('kills');
    for (let kill = 0; kill < kills; kill += 1) {
      // A call would be refused while no process can take it.
      await context.stack.untilReady();
      if (kill >= kills * STORE_AWAY_AFTER) storeBack ??= haveStoreAway();
      const load = context.startMedia({
        ...MOSTLY_JOBS,
        calls: Math.ceil(calls / kills),
        // The kills hold up jobs for as long before the store is away.
        patienceMs: 2 * awayMs + MENDED_WITHIN_MS,
      });
      loads.push(load);
      await load.untilSent(Math.ceil(calls / kills));
      await pause(random.between(...ALIVE_MS));
      await parts.kill('media-jobs');
      await parts.restart('media-jobs');
    }
  };
  const freezing = async (): Promise<void> => {
    for (let freezes = timesOf('freezes'); freezes > 0; freezes -= 1) {
      await pause(THAWED_MS);
      await parts.freeze(SECOND_WORKER);
      await pause(FROZEN_MS);
      parts.thaw(SECOND_WORKER);
    }
  };
  const forgetting = async (): Promise<void> => {
    for (let restarts = timesOf('restarts'); restarts > 0; restarts -= 1) {
      await pause(random.between(...FORGETS_EVERY_MS));
      await mediaBackends[random.between(0, mediaBackends.length - 1)]?.restart();
    }
  };
  await Promise.all([killing(), freezing(), forgetting()]);
  await storeBack;
  await context.repaired();
  const records = (await Promise.all(loads.map(({ done }) => done))).flat();
  noteEnds(context, records);
  context.checkMediaOutcomes(records, { ok: true, failed: true, ...REFUSED });
  const isExcused = ({ outcome, error = '' }: MediaRecord): boolean =>
    outcome !== 'failed' || OUTSIDE_FAULTS.has(error);
  context.check(records.every(isExcused), 'a job failed although nothing of it was lost');
  await context.untilMediaIsOver();
  await context.untilUploadsAreGone();
}

/** Longer than an owner may live without a word. */
const AWAY_MS = 40_000;
const SLOW_RENDER_MS = 3_000;

/** The worker that clients reach makes jobs, and stands still before they have ended. */
async function haveOwnerAway(context: CellContext): Promise<void> {
  const { parts, mediaBackends, media: db } = context.stack;
  await startSecondWorker(context);
  await Promise.all(mediaBackends.map((backend) => backend.configure({ renderBaseMs: SLOW_RENDER_MS })));
  const calls = Math.min(20, countCalls(context));
  const load = context.startMedia({ kinds: ['image job', 'video'], calls });
  const { workspaceId } = context.account;
  const countJobs = async (which: string): Promise<number> => {
    const { rows } = await db.query(`SELECT count(*)::INT AS jobs FROM job WHERE workspace_id = $1 AND ${which}`, [
      workspaceId,
    ]);
    return rows[0]?.jobs ?? 0;
  };
  const openJobs = (): Promise<number> => countJobs('ended_at IS NULL');
  await context.until('every job to be made', async () => (await countJobs('true')) === calls);
  context.check((await openJobs()) > 0, 'every job had ended before its owner was away');
  await parts.freeze('media-jobs');
  await pause(AWAY_MS);
  await context.until('the other worker to have ended every job', async () => (await openJobs()) === 0, AWAY_MS);
  parts.thaw('media-jobs');
  await context.repaired();
  const records = await load.done;
  noteEnds(context, records);
  context.checkMediaOutcomes(records, { ok: true, failed: true, ...REFUSED });
  await context.untilMediaIsOver();
}

const SAME_WORDS = 'animate this picture';
/** Each of them asks for clips of a length of its own, so that one of the other shows. */
const CLIP_SECONDS = MEDIA_MODELS.video.seconds;
/** An answer of 500 bytes takes 2 s. */
const SLOW_BYTE_MS = 4;
const LATE_OR_LOST = {
  [MEDIA_MODELS.video.id]: [
    ['reset_before_answer', 0.25],
    ['answer_lost', 0.15],
    ['body_slow', 0.6],
  ],
  [MEDIA_MODELS.image.id]: [
    ['reset_before_answer', 0.1],
    ['answer_lost', 0.15],
  ],
} as const;
const TWO_AT_ONCE = 2;

async function loseAnswers(context: CellContext): Promise<void> {
  const { mediaBackends, stateDir } = context.stack;
  const file = join(stateDir, 'media-backends.json');
  const { backends } = JSON.parse(await readFile(file, 'utf8')) as { backends: object[] };
  const slots = TWO_AT_ONCE;
  await writeFile(file, JSON.stringify({ backends: backends.map((backend) => ({ ...backend, slots })) }));
  for (const [index, backend] of mediaBackends.entries()) {
    const faults = Object.entries(LATE_OR_LOST).find(([model]) => model === backend.model)?.[1] ?? [];
    await backend.configure({ slots });
    await backend.addFaults(
      faults.map(([fault, probability]) => ({
        ...{ match: { route: CREATES[backend.model], probability }, fault, seed: `${fault} ${index}` },
        byteMs: SLOW_BYTE_MS,
      })),
    );
  }
  const other = await context.openAccount({});
  const loads = [context.account, other].map(({ keys }, index) =>
    context.startMedia({
      kinds: ['video', 'video', 'image job', 'video', 'images'],
      calls: Math.ceil(countCalls(context) / 2),
      prompt: SAME_WORDS,
      seconds: CLIP_SECONDS[index] ?? 1,
      keys,
      perSecond: 3,
    }),
  );
  const records = (await Promise.all(loads.map(({ done }) => done))).flat();
  await Promise.all(mediaBackends.map((backend) => backend.clearFaults()));
  noteEnds(context, records);
  context.checkMediaOutcomes(records, { ok: true, failed: true, ...REFUSED });
  context.check(
    records.every(({ outcome, error }) => outcome !== 'failed' || error === 'backend_lost'),
    'a job failed although its answers were not lost',
  );
  const held = records.reduce((sum, { held: files }) => sum + files.length, 0);
  context.notes.push(`clients hold ${held} files`);
  context.check(held > records.length / 2, 'clients hold hardly anything');
  await context.untilMediaIsOver();
}

const WORKER_READY_WITHIN_MS = 60_000;

/** Another process of media-jobs, which no client reaches: it works on jobs, and has a name and folders of its own. */
async function startSecondWorker(context: CellContext): Promise<void> {
  const { parts, dataDir } = context.stack;
  const [port, internalPort] = await findFreePorts(2);
  parts.startLike('media-jobs', {
    name: SECOND_WORKER,
    env: {
      PORT: String(port),
      INTERNAL_PORT: String(internalPort),
      SPOOL_DIR: join(dataDir, 'media-spool-second'),
      UPLOAD_DIR: join(dataDir, 'media-uploads-second'),
    },
  });
  const isReady = async (): Promise<boolean> => {
    const answer = await request(`http://127.0.0.1:${internalPort}/ready`).catch(() => undefined);
    await answer?.body.dump();
    return answer?.statusCode === 200;
  };
  await context.until('the second worker', isReady, WORKER_READY_WITHIN_MS);
}

/** Quick renders, few at a time: how long a job takes is much the same for all of them. */
const EVEN: MediaLoadOptions = { calls: 0, kinds: ['image job'], perSecond: 20, openAtMost: 6 };
const RENDER_MS = 50;
/** The first guess of how long a job takes, and how far from that what is done to it may strike. */
const FIRST_GUESS_MS = 400;
const ASIDE_MS = 60;
const LOOK_EVERY_MS = 25;
const DELETED_SHARE = 0.4;
/** More of them than of other calls: they are small. */
const PER_CALL = 3;

async function raceEnds(context: CellContext): Promise<void> {
  const { media: db, mediaBackends } = context.stack;
  const { workspaceId } = context.account;
  await Promise.all(mediaBackends.map((backend) => backend.configure({ renderBaseMs: RENDER_MS })));
  let typicalMs = FIRST_GUESS_MS;
  const load = context.startMedia({
    ...EVEN,
    calls: PER_CALL * countCalls(context),
    deleteAfterMs: (random) =>
      random.share() < DELETED_SHARE ? typicalMs + random.between(-ASIDE_MS, ASIDE_MS) : undefined,
  });
  let hasEnded = false;
  const meddling = (async () => {
    while (!hasEnded) {
      // Each job once: a third of those that nobody deletes come to their deadline then, a third expire as they have ended.
      await db.query(
        `UPDATE job SET deadline_at = created_at + make_interval(secs => ($2 + (random() - 0.5) * ${2 * ASIDE_MS}) / 1000)
         WHERE workspace_id = $1 AND state IN ('queued', 'submitting', 'running') AND hashtext(job_id) % 3 = 0
           AND deadline_at > now() + INTERVAL '5 seconds'`,
        [workspaceId, typicalMs],
      );
      await db.query(
        `UPDATE job SET expires_at = now(), remove_at = now(), due_at = now()
         WHERE workspace_id = $1 AND state = 'completed' AND hashtext(job_id) % 3 = 1 AND expires_at > now() + INTERVAL '1 hour'`,
        [workspaceId],
      );
      const { rows } = await db.query(
        `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - created_at) * 1000) AS ms
         FROM (SELECT * FROM job WHERE workspace_id = $1 AND state = 'completed' ORDER BY ended_at DESC LIMIT 20) AS latest`,
        [workspaceId],
      );
      typicalMs = rows[0]?.ms ?? typicalMs;
      await pause(LOOK_EVERY_MS);
    }
  })();
  const records = await load.done;
  hasEnded = true;
  await meddling;
  noteEnds(context, records);
  context.checkMediaOutcomes(records, { ok: true, failed: true, deleted: true, gone: true });
  const { rows } = await db.query(
    'SELECT state AS outcome, count(*)::INT AS count FROM job WHERE workspace_id = $1 GROUP BY 1 ORDER BY 1',
    [workspaceId],
  );
  context.notes.push(`winners: ${rows.map(({ outcome, count }) => `${count} ${outcome}`).join(', ')}`);
  for (const state of ['completed', 'cancelled', 'failed'])
    context.check(
      rows.some(({ outcome }) => outcome === state),
      `no job was ${state}`,
    );
  await context.untilMediaIsOver();
}

const OF_OUTPUT = [
  'output_empty',
  'output_truncated',
  'output_html',
  'output_wrong_kind',
  'output_without_content',
  'render_fails',
] as const;
const OF_BODY = ['body_empty', 'body_short', 'body_endless', 'html_with_200', 'invalid_json'] as const;
/** A clip whose content breaks off is asked for again: only what was rendered is a verdict there. */
const CORRUPTIONS = {
  'image job': [...OF_OUTPUT, ...OF_BODY, 'output_other_size'],
  video: [...OF_OUTPUT],
  'speech job': ['output_empty', 'output_html', 'output_wrong_kind', 'output_without_content'],
} as const;
const MODEL_IDS = {
  'image job': MEDIA_MODELS.image.id,
  video: MEDIA_MODELS.video.id,
  'speech job': MEDIA_MODELS.speech.id,
};
const TIMES_EACH = 3;
const WARM_UP_CALLS = 24;
const MOST_MIB = 64;

async function corrupt(context: CellContext): Promise<void> {
  const pid = context.stack.parts.pidOf('media-jobs');
  const kinds = ['image job', 'video', 'speech job'] as const;
  const warm = await context.startMedia({ kinds, calls: WARM_UP_CALLS }).done;
  context.checkMediaOutcomes(warm, { ok: true });
  await forgetPeak(pid);
  const before = await readPeakMib(pid);
  const corruptKind = async (kind: (typeof kinds)[number]): Promise<void> => {
    const backends = context.stack.mediaBackends.filter(({ model }) => model === MODEL_IDS[kind]);
    for (const fault of CORRUPTIONS[kind]) {
      const rule = { match: { route: CREATES[MODEL_IDS[kind]] }, fault };
      await Promise.all(backends.map((backend) => backend.addFaults([rule])));
      const calls = await context.startMedia({ kinds: [kind], calls: TIMES_EACH }).done;
      for (const { outcome, error } of calls)
        context.check(
          outcome === 'failed',
          `${kind} with ${fault}: ${outcome}${error === undefined ? '' : `, ${error}`}`,
        );
      await Promise.all(backends.map((backend) => backend.clearFaults()));
    }
  };
  await Promise.all(kinds.map(corruptKind));
  const more = (await readPeakMib(pid)) - before;
  context.notes.push(`media-jobs had ${more.toFixed(0)} MiB more at most`);
  context.check(more <= MOST_MIB, `media-jobs had ${more.toFixed(0)} MiB more, ${MOST_MIB} are allowed`);
  noteEnds(context, context.mediaRecords);
  await context.untilMediaIsOver();
}
