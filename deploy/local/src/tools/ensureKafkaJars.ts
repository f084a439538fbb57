import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from '../process/runToEnd.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { StackError } from '../stackError.ts';
import { hasCommand } from './hasCommand.ts';
import { installDebianPackages } from './installDebianPackages.ts';

/** A first fetch is some 50 MB, and Maven itself as much again. */
const FETCH_TIMEOUT_MS = 600_000;
const POM_FILE = join(repositoryRoot, 'deploy/local/kafka/pom.xml');

/**
 * The folder of the Kafka broker's jars: fetched once per machine from Maven Central into the user's cache. `say` is told
 * what takes long.
 * Throws a `StackError` that says what is missing: Java, Maven, or the way to Maven Central.
 */
export async function ensureKafkaJars(say: (line: string) => void): Promise<string> {
  const version = await readKafkaVersion();
  const cacheDir = join(homedir(), '.cache', 'turnpike');
  const jarDir = join(cacheDir, `kafka-${version}`);
  if (!hasCommand('java')) await installDebianPackages(['default-jre-headless'], 'Java, which Kafka runs on,', say);
  if (existsSync(jarDir)) return jarDir;
  if (!hasCommand('mvn')) await installDebianPackages(['maven'], 'Maven, which fetches Kafka,', say);

  say(`Fetching Kafka ${version} from Maven Central, once for this machine…`);
  // Fetched under another name and renamed when complete: an interrupted fetch leaves nothing that looks whole.
  const partialDir = `${jarDir}.partial-${process.pid}`;
  await mkdir(partialDir, { recursive: true });
  try {
    await runToEnd('fetching Kafka from Maven Central', {
      command: 'mvn',
      args: [
        '-B',
        '-q',
        '-f',
        POM_FILE,
        'dependency:copy-dependencies',
        '-DincludeScope=runtime',
        `-DoutputDirectory=${partialDir}`,
      ],
      env: process.env,
      timeoutMs: FETCH_TIMEOUT_MS,
    });
    await rename(partialDir, jarDir);
  } catch (error) {
    await rm(partialDir, { recursive: true, force: true });
    if (!existsSync(jarDir)) throw error; // unless another process has fetched it meanwhile
  }
  return jarDir;
}

async function readKafkaVersion(): Promise<string> {
  const version = /<kafka\.version>([\d.]+)</.exec(await readFile(POM_FILE, 'utf8'))?.[1];
  if (!version) throw new StackError(`${POM_FILE} does not say kafka.version.`);
  return version;
}
