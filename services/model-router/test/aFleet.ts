import { renameSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import type { Engine } from '../src/engines/engine.ts';
import { createEngineRegistry, type EngineRegistry } from '../src/engines/engineRegistry.ts';
import { aPricedModel } from './aPricedModel.ts';
import { listenAnywhere } from './listenAnywhere.ts';

/** Answers some paths of an engine; what it leaves alone is answered as a well one does. */
export type EngineBehaviour = (req: IncomingMessage, res: ServerResponse) => boolean;

const wellBehaved: EngineBehaviour = () => false;

/** A server whose behaviour a test can change, and the registry that looks after several of them. */
export interface Fleet {
  registry: EngineRegistry;
  engines: Engine[];
  /** Paths that were asked for, by engine, oldest first. */
  asked: string[][];
  behave(index: number, behaviour: EngineBehaviour): void;
  writeFile(text: string): void;
  /** The entries of its first list. */
  entries: object[];
  close(): Promise<void>;
}

const MODEL = aPricedModel();

/** Starts engines of the small model that behave as told, listed in a file. */
export async function aFleet(
  behaviours: EngineBehaviour[] = [wellBehaved, wellBehaved],
  { cordoned = new Set() }: { cordoned?: ReadonlySet<string> } = {},
): Promise<Fleet> {
  const current = [...behaviours];
  const asked: string[][] = behaviours.map(() => []);
  const servers: Server[] = [];
  const entries = await Promise.all(
    behaviours.map(async (_behaviour, index) => {
      const listener: RequestListener = (req, res) => {
        asked[index]?.push(req.url ?? '');
        if (!current[index]?.(req, res)) answerWell(req, res);
      };
      const server = createServer(listener);
      servers.push(server);
      return { id: `e${index}`, url: await listenAnywhere(server), model: MODEL.id };
    }),
  );
  const enginesFile = join(await aTemporaryFolder(), 'engines.json');
  /** Puts another file in its place, which nobody finds half written. */
  function writeFile(text: string): void {
    writeFileSync(`${enginesFile}.next`, text);
    renameSync(`${enginesFile}.next`, enginesFile);
  }
  writeFile(JSON.stringify({ engines: entries }));
  const registry = createEngineRegistry({
    enginesFile,
    kubernetes: undefined,
    cordoned,
    room: { calls: 1_000, tokens: 1_000_000 },
    metrics: noMetrics,
    log: aSilentLogger(),
  });
  return {
    registry,
    engines: [...registry.list()],
    asked,
    behave(index, behaviour) {
      current[index] = behaviour;
    },
    writeFile,
    entries,
    async close() {
      await registry.close();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

function answerWell({ url }: IncomingMessage, res: ServerResponse): void {
  if (url === '/health') res.end();
  else if (url === '/v1/models') res.end(JSON.stringify({ data: [{ id: MODEL.id, max_model_len: 4_096 }] }));
  else if (url === '/v1/chat/completions') res.end('{"choices":[{"index":0}]}');
  else if (url === '/metrics') res.end('vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n');
  else res.writeHead(404).end('{}');
}
