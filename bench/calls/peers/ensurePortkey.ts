import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runToEnd } from '@turnpike/local-stack/process/runToEnd';
import { makeOnce } from '@turnpike/local-stack/tools/makeOnce';

const VERSION = '1.15.2';
const INSTALL_TIMEOUT_MS = 300_000;
/** Number of the patch. Another patch gets another folder. */
const PATCH = 1;

/**
 * A patch, because Portkey's streams fail on Node 24. Portkey passes the engine's whole response to `new Response` as options, and undici
 * refuses the headers object of another copy of undici. A plain list of headers is equivalent.
 */
const MEND = {
  from: 'new Response(p,e)}const Ad',
  to: 'new Response(p,{status:e.status,statusText:e.statusText,headers:[...e.headers]})}const Ad',
};

/** The program of Portkey's gateway: installed once per machine from npm into the user's cache, and mended. */
export async function ensurePortkey(say: (line: string) => void): Promise<string> {
  const program = 'node_modules/@portkey-ai/gateway/build/start-server.js';
  const folder = await makeOnce(`portkey-${VERSION}-${PATCH}`, async (partial) => {
    say('installing Portkey’s gateway from npm, once for this machine');
    await writeFile(join(partial, 'package.json'), '{"private": true}\n');
    await runToEnd('installing Portkey’s gateway', {
      command: 'npm',
      args: [
        'install',
        '--prefix',
        partial,
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        `@portkey-ai/gateway@${VERSION}`,
      ],
      timeoutMs: INSTALL_TIMEOUT_MS,
    });
    const text = await readFile(join(partial, program), 'utf8');
    if (!text.includes(MEND.from)) throw new Error('Portkey’s gateway is not what the mend was made for');
    await writeFile(join(partial, program), text.replace(MEND.from, MEND.to));
  });
  return join(folder, program);
}
