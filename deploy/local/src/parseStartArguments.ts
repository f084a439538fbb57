import { REGIONS, type Region } from '@turnpike/config/region';
import { type EngineChoice, parseEngineChoice } from './engines/engineChoice.ts';
import { readArguments } from './runCommand.ts';
import { StackError } from './stackError.ts';

export interface StartArguments {
  /** Regions that run beside each other, `us` first; `us` alone by default. */
  regions: Region[];
  /** Runs on a real Kafka broker in place of the embedded event log. */
  kafka: boolean;
  /** Keeps objects on a real S3 server in place of a folder. */
  s3: boolean;
  /** Real engines in place of the simulated ones; none by default. */
  engines: EngineChoice[];
  /** The part of the running stack to restart, in place of a start. */
  restart: string | undefined;
  help: boolean;
}

export const START_USAGE = `npm start -- [--regions us,eu] [--kafka] [--s3] [--engine <address>]…
npm start -- --restart <part>

Starts the whole gateway on this machine: every service, a private Postgres and Redis, simulated engines,
and a workspace with a key and credit. Ctrl-C stops all of it.

  --regions us,eu              run both regions, each with its own services and stores, and one account layer
  --kafka                      use a real Kafka broker (needs Java and Maven) in place of the embedded event log
  --s3                         keep images, clips and speech on a real S3 server (needs Java and Maven) in place of a
                               folder
  --engine http://host:port    put the gateway in front of a server that speaks the public chat API, such as vLLM,
                               in place of the simulated engines of text; its models, and what they can do, are
                               found by asking it; may stand several times. Behind the address may stand what is
                               not found: --engine http://host:port,tools,images,window=32768
  --restart <part>             end one part of the stack that runs, such as auth, and start it again with what it had;
                               a part that has ended is started
  --help                       show this

Environment:
  PORT_BASE   first of the stack's ports, 8080 where it is not set; another one runs another stack beside the first
  LOG_LEVEL, ACCESS_LOG_SAMPLE_RATIO, OTEL_EXPORTER_OTLP_ENDPOINT, TRACE_SAMPLE_RATIO
              given to every service as they are; docs/settings.md says what they do`;

/** Reads the arguments of `npm start --`. Throws a `StackError` that lists what there is on anything unknown. */
export function parseStartArguments(args: string[]): StartArguments {
  const options = {
    regions: { type: 'string', default: 'us' },
    kafka: { type: 'boolean', default: false },
    s3: { type: 'boolean', default: false },
    engine: { type: 'string', multiple: true, default: [] as string[] },
    restart: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  const hint = 'The options are --regions, --kafka, --s3, --engine, --restart and --help.';
  const { engine, regions: regionList, restart, ...flags } = readArguments({ args, options }, hint).values;
  const [regions, engines] = [parseRegions(regionList), engine.map(parseEngineChoice)];
  if (engines.length > 0 && regions.length > 1)
    throw new StackError('--engine needs a single region, because no engine serves two: leave --regions out.');
  if (restart !== undefined && args.length > 2)
    throw new StackError(
      '--restart names one part and goes alone: the part has the options that the stack was started with.',
    );
  return { ...flags, regions, engines, restart };
}

function parseRegions(list: string): Region[] {
  const names = list.split(',');
  const form = `--regions takes ${REGIONS.join(' and ')}, each once, as in --regions ${REGIONS.join(',')}`;
  const unknown = names.find((name) => !REGIONS.some((region) => region === name));
  if (unknown !== undefined) throw new StackError(`${form}; "${unknown.slice(0, 32)}" is no region.`);
  if (new Set(names).size < names.length) throw new StackError(`${form}; "${list.slice(0, 32)}" has one twice.`);
  return REGIONS.filter((region) => names.includes(region));
}

export const DEFAULT_PORT_BASE = 8080;
const LOWEST = 1024;
/** Leaves room above for every part's port. */
const HIGHEST = 65_000;

/** The first port of a stack, from the variable PORT_BASE; 8080 where it is not set. Throws a `StackError` on anything else. */
export function parsePortBase(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_PORT_BASE;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= LOWEST && port <= HIGHEST) return port;
  throw new StackError(
    `PORT_BASE is "${text.slice(0, 32)}", but it has to be a whole number from ${LOWEST} to ${HIGHEST}: the first of the stack's ports, as in PORT_BASE=${DEFAULT_PORT_BASE}.`,
  );
}
