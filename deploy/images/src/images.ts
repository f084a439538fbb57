import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { entryOf, SERVICE_NAMES, type ServiceName } from '@turnpike/config/services';
import { buildDashboard, computeStamp } from '@turnpike/dashboard/buildDashboard';
import { ensureFfmpeg, ensureRedisServer } from '@turnpike/local-stack/tools/installDebianPackages';
import { toNpmComponent } from './archive/toBillOfMaterials.ts';
import { appLayer } from './layers/appLayer.ts';
import { copyDebianFiles, listBeyondNode, stampFiles } from './layers/debianFiles.ts';
import type { Layer } from './layers/layer.ts';
import { javaLayer, kafkaLayer, postgresLayer, s3ProxyLayer, storeScriptsLayer } from './layers/storeLayers.ts';

/** An image: what lies above the runtime, and what is started. */
export interface Image {
  name: string;
  /** The programs beside its app. */
  programs: Layer[];
  /** The layer of `/app`. It is the top one, because it changes most. */
  app: Layer;
  /** The program that Node runs in it; a container may name another. */
  program: string;
  /** Options of Node itself. */
  nodeFlags?: readonly string[];
  /** The signal by which the container engine ends it. Default: SIGTERM. */
  stopSignal?: string;
}

const ffmpegLayer = programsLayer('ffmpeg', ['/usr/bin/ffmpeg', '/usr/bin/ffprobe'], ensureFfmpeg);
const redisLayer = programsLayer('redis', ['/usr/bin/redis-server'], ensureRedisServer);
/** Parts of util-linux, which every Debian has. */
const flockLayer = programsLayer('flock', ['/usr/bin/flock']);
const limitsLayer = programsLayer('limits', ['/usr/bin/setpriv', '/usr/bin/prlimit']);

/** The built pages in `/app/dashboard`, with the licences of the npm packages that they contain. */
const dashboardLayer: Layer = {
  name: 'dashboard',
  stamp: computeStamp,
  async fill(folder) {
    const dist = await buildDashboard((line) => process.stdout.write(`${line}\n`));
    await cp(dist, join(folder, 'app/dashboard'), { recursive: true });
    const licenses: { name: string; version: string; identifier?: string }[] = JSON.parse(
      await readFile(join(dist, 'licenses.json'), 'utf8'),
    );
    return licenses.map(({ name, version, identifier }) => toNpmComponent(name, version, identifier));
  },
};

/** The programs and files that a service needs beside its code: a lock of its spool, bounds of conversions, the pages it serves. */
const PROGRAMS: Partial<Record<ServiceName, Layer[]>> = {
  'model-router': [flockLayer],
  'control-plane': [dashboardLayer],
  'media-jobs': [flockLayer, limitsLayer, ffmpegLayer],
};

const toAppImage = (name: string, place: string, programs: Layer[] = []): Image => ({
  name,
  programs,
  app: appLayer(place),
  program: 'src/main.js',
});

/** The images of our own programs: the services, stand-ins for engines, for a mail server and for the payment processor, the command line. */
export const APPS: readonly Image[] = [
  ...SERVICE_NAMES.map((name) => ({
    ...toAppImage(name, `services/${name}`, PROGRAMS[name]),
    nodeFlags: entryOf(name).nodeFlags ?? [],
  })),
  toAppImage('engine-simulator', 'deploy/engine-simulator'),
  toAppImage('media-simulator', 'deploy/media-simulator', [ffmpegLayer]),
  toAppImage('mail-catcher', 'deploy/mail-catcher'),
  toAppImage('payments-simulator', 'deploy/payments-simulator'),
  toAppImage('operator', 'deploy/operator'),
];

const toStoreImage = (name: string, ...programs: Layer[]): Image => ({
  name,
  programs,
  app: storeScriptsLayer,
  program: `${name}.js`,
});

/** Every image: the apps, and the stores of `local`. */
export const IMAGES: readonly Image[] = [
  ...APPS,
  // Its fast shutdown: open sessions are ended, nothing committed is lost.
  { ...toStoreImage('postgres', postgresLayer), stopSignal: 'SIGINT' },
  toStoreImage('redis', redisLayer),
  toStoreImage('s3', javaLayer, s3ProxyLayer),
  toStoreImage('kafka', javaLayer, kafkaLayer),
];

/** Programs of Debian packages, which `prepare` installs where they may be missing, and the libraries they need beside Node's. */
function programsLayer(name: string, programs: string[], prepare?: Layer['prepare']): Layer {
  return {
    name,
    ...(prepare && { prepare }),
    stamp: async () => stampFiles(await listFiles(programs)),
    fill: async (folder) => copyDebianFiles(await listFiles(programs), folder),
  };
}

const listFiles = async (programs: string[]): Promise<string[]> => [...programs, ...(await listBeyondNode(programs))];
