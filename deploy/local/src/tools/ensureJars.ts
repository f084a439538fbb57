import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runToEnd } from '../process/runToEnd.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { StackError } from '../stackError.ts';
import { hasCommand, installDebianPackages } from './installDebianPackages.ts';
import { makeOnce } from './makeOnce.ts';

/** A first fetch is some 50 MB, and Maven itself as much again. */
const FETCH_TIMEOUT_MS = 600_000;

/** The servers that come from Maven Central, as folders of this package with a `pom.xml`, and what people call them. */
const SERVERS = { kafka: 'Kafka', s3proxy: 'S3Proxy' };
export type JavaServer = keyof typeof SERVERS;

/**
 * Returns the folder of a server's jars, fetched once per machine from Maven Central into the user's cache. `say` is
 * called before long steps. Throws a `StackError` for missing Java, Maven, or access to Maven Central.
 */
export async function ensureJars(server: JavaServer, say: (line: string) => void): Promise<string> {
  const name = SERVERS[server];
  const pomFile = join(repositoryRoot, 'deploy/local', server, 'pom.xml');
  const version = await readVersion(server, pomFile);
  if (!hasCommand('java')) await installDebianPackages(['default-jre-headless'], `Java, which ${name} runs on,`, say);
  return makeOnce(`${server}-${version}`, async (folder) => {
    if (!hasCommand('mvn')) await installDebianPackages(['maven'], `Maven, which fetches ${name},`, say);
    say(`Fetching ${name} ${version} from Maven Central, once for this machine…`);
    await runToEnd(`fetching ${name} from Maven Central`, {
      command: 'mvn',
      args: [
        '-B',
        '-q',
        '-f',
        pomFile,
        'dependency:copy-dependencies',
        '-DincludeScope=runtime',
        `-DoutputDirectory=${folder}`,
      ],
      env: process.env,
      timeoutMs: FETCH_TIMEOUT_MS,
    });
  });
}

async function readVersion(server: JavaServer, pomFile: string): Promise<string> {
  const version = new RegExp(`<${server}\\.version>([\\d.]+)<`).exec(await readFile(pomFile, 'utf8'))?.[1];
  if (!version) throw new StackError(`${pomFile} does not say ${server}.version.`);
  return version;
}
