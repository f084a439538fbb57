import { readFile } from 'node:fs/promises';
import type { ClusterRegion } from '@turnpike/cluster/describeCluster';
import { namespaceOf } from '@turnpike/cluster/paths';
import { isReady, listWorkloads } from '@turnpike/cluster/workloads';
import type { Region } from '@turnpike/config/region';
import { listModels } from '@turnpike/local-stack/listModels';
import { waitFor } from '@turnpike/local-stack/waitFor';
import { Redis } from 'ioredis';
import pg from 'pg';
import { request } from 'undici';
import { z } from 'zod';
import type { BookedStack } from '../../faults/stack/bookedStack.ts';
import { MediaBackend } from '../../faults/stack/mediaBackends.ts';
import type { MediaModels } from '../../faults/stack/mediaModels.ts';
import { createOperator } from '../../faults/stack/operator.ts';
import { Simulator } from '../../faults/stack/simulators.ts';
import { listRegionPods } from './pods.ts';

/** The services' default. */
const LEASE_MS = 60_000;
const QUERY_TIMEOUT_MS = 10_000;
const READY_WITHIN_MS = 240_000;
const READY_TIMEOUT_MS = 2_000;
/** The admin listener of the simulated engines, and of the first of the media backends; each further one has the next. */
const ADMIN_PORT = 8190;

/** Two models of text that all regions have. */
const MODELS = ['llama-3.1-8b-instruct', 'smollm2-1.7b-instruct'];
const MEDIA_MODELS = {
  image: 'flux.1-schnell',
  transcript: 'whisper-large-v3',
  speech: 'kokoro-82m',
  video: 'wan2.2-t2v-a14b',
} as const;
/** The smallest there is, so that two cores can make some. */
const ASKED = { imageSize: '512x512', videoSize: '832x480', videoSeconds: [3] };

/** A region of the cluster, with its stores and simulators as this machine reaches them. */
export interface RegionStack extends BookedStack {
  region: Region;
  namespace: string;
  struckAt: number[];
  /** Looks anew where the simulated engines are, in the order of their pods, which may have moved. Retired ones stay, last. */
  findSimulators(): Promise<void>;
  close(): Promise<void>;
}

export async function openRegion(region: Region, described: ClusterRegion): Promise<RegionStack> {
  const namespace = namespaceOf(region);
  const secrets = z
    .object({ internalKeys: z.object({ operator: z.string() }) })
    .parse(JSON.parse(await readFile(described.secrets_file, 'utf8')));
  const poolOf = (database: string): pg.Pool => {
    const connectionString = described.postgres_url.replace(/\/postgres$/, `/${database}`);
    return new pg.Pool({ connectionString, max: 4, query_timeout: QUERY_TIMEOUT_MS }).on('error', () => undefined);
  };
  const [ledger, catalog, media] = [poolOf('ledger'), poolOf('catalog'), poolOf('media')];
  const redis = new Redis(described.redis_url, { commandTimeout: 5_000 }).on('error', () => undefined);
  let simulators: Simulator[] = [];
  let mediaBackends: MediaBackend[] = [];

  const stack: RegionStack = {
    region,
    namespace,
    baseUrl: described.base_url,
    models: MODELS,
    mediaModels: await readMediaModels(described),
    leaseMs: LEASE_MS,
    struckAt: [],
    get simulators() {
      return simulators;
    },
    get mediaBackends() {
      return mediaBackends;
    },
    operator: createOperator(described.services, secrets.internalKeys.operator),
    ledger,
    catalog,
    media,
    redis,
    async untilReady() {
      const isWhole = async (): Promise<true | undefined> => {
        if (!(await listWorkloads(namespace)).every(isReady)) return undefined;
        const urls = Object.values(described.services).map((service) => `${service.internal_url}/ready`);
        return (await Promise.all(urls.map(answers))).every(Boolean) || undefined;
      };
      const ready = await waitFor(isWhole, { timeoutMs: READY_WITHIN_MS, intervalMs: 500 });
      if (!ready) throw new Error(`region ${region} is not ready within ${READY_WITHIN_MS / 1_000} s`);
    },
    async findSimulators() {
      const urlOf = async (app: string): Promise<string[]> =>
        (await listRegionPods(region, app)).map(({ status }) => `http://${status.podIP}`);
      const retired = simulators.filter(({ isRetired }) => isRetired);
      simulators = [...(await urlOf('engines')).map((url) => new Simulator(`${url}:${ADMIN_PORT}`)), ...retired];
      mediaBackends = (await urlOf('media-engines')).flatMap((url) =>
        Object.values(MEDIA_MODELS).map(
          (model, index) =>
            new MediaBackend({ id: `media-1/${model}`, model, admin_url: `${url}:${ADMIN_PORT + index}` }),
        ),
      );
    },
    async close() {
      redis.disconnect();
      await Promise.all([ledger.end(), catalog.end(), media.end()]);
    },
  };
  await stack.findSimulators();
  return stack;
}

/** The media models as a client sees them: their prices are what the books are held against. */
async function readMediaModels({ base_url: baseUrl, api_key: apiKey }: ClusterRegion): Promise<MediaModels> {
  const listed = (await listModels(baseUrl, apiKey)) ?? [];
  const priceOf = <Unit extends string>(id: string, unit: Unit): { id: string; unit: Unit; unitPrice: string } => {
    const model = listed.find((candidate) => candidate.id === id);
    if (model?.billing_unit !== unit || !model.unit_price)
      throw new Error(`the region has no ${id} that is priced by the ${unit}`);
    return { id, unit, unitPrice: model.unit_price };
  };
  return {
    image: { ...priceOf(MEDIA_MODELS.image, 'image'), size: ASKED.imageSize },
    video: { ...priceOf(MEDIA_MODELS.video, 'second'), size: ASKED.videoSize, seconds: ASKED.videoSeconds },
    speech: priceOf(MEDIA_MODELS.speech, 'character'),
    transcript: priceOf(MEDIA_MODELS.transcript, 'minute'),
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}
