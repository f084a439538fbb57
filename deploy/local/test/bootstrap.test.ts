import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { repositoryRoot } from '../src/repositoryRoot.ts';

const WARNING = 'WARN Unsupported engine: wanted 24, current 20';

let clone: string;
beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), 'turnpike-bootstrap-'));
  await write('pnpm-lock.yaml', '');
  await write('pnpm-workspace.yaml', '');
  await write('package.json', '{}');
  await write('services/ledger/prisma/schema.prisma', '');
  await write('program.mjs', 'console.log("ran with", process.argv[2]);');
  await mkdir(join(clone, 'deploy/local'), { recursive: true });
  await mkdir(join(clone, 'node_modules/.bin'), { recursive: true });
  await copyFile(join(repositoryRoot, 'deploy/local/bootstrap.mjs'), join(clone, 'deploy/local/bootstrap.mjs'));
  await symlink(process.execPath, join(clone, 'node_modules/.bin/node'));
  await command('node_modules/.bin/npx', `echo "${WARNING}" >&2`);
  await command('node_modules/.bin/prisma', 'mkdir -p src/generated; echo Generated | tee src/generated/client.ts');
});
afterEach(() => rm(clone, { recursive: true }));

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(clone, path)), { recursive: true });
  await writeFile(join(clone, path), text);
}

/** Puts a shell script where the bootstrap looks for one of the installers. */
async function command(path: string, script: string): Promise<void> {
  await write(path, `#!/bin/sh\n${script}\n`);
  await chmod(join(clone, path), 0o755);
}

function bootstrap(env: Record<string, string> = {}): { code: number | null; stdout: string; stderr: string } {
  const args = [join(clone, 'deploy/local/bootstrap.mjs'), join(clone, 'program.mjs'), 'an argument'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { code: status, stdout, stderr };
}

it('sets a fresh copy up in a line for each step, hands over, and is silent the next time', () => {
  const first = bootstrap();

  expect(first).toMatchObject({ code: 0, stdout: 'ran with an argument\n' });
  expect(first.stderr).toMatch(
    /^Installing the dependencies \(the first time takes a minute\)…\.* done in \d+\.\d s\nGenerating the database clients…\.* done in \d+\.\d s\n$/,
  );
  expect(bootstrap()).toEqual({ code: 0, stdout: 'ran with an argument\n', stderr: '' });
});

it('shows all that an installer said when it fails, then what can be done', async () => {
  await command('node_modules/.bin/npx', `echo "${WARNING}"; echo "ERR_PNPM_META ENOTFOUND registry" >&2; exit 1`);

  const { code, stdout, stderr } = bootstrap();

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/minute\)…\.* failed\.\n/);
  expect(stderr).toContain(`${WARNING}\n`);
  expect(stderr).toContain('ERR_PNPM_META ENOTFOUND registry\n');
  expect(stderr).toMatch(/\n\nThe npm registry is not reachable: .*\n$/);
});

it('shows what the generator said when it fails, and sets up again at the next start', async () => {
  await command('node_modules/.bin/prisma', 'echo "error: line 3 of the schema"; exit 1');
  const failed = bootstrap();
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toContain('error: line 3 of the schema\n');
  expect(failed.stderr).toMatch(/\n\nGenerating the database client of .*ledger failed; the lines above say why\.\n$/);

  await command('node_modules/.bin/prisma', 'mkdir -p src/generated; touch src/generated/client.ts');
  expect(bootstrap()).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Generating the database clients…/) });
});

it('leads no call to this machine through a proxy that Node is told to use', async () => {
  await write(
    'program.mjs',
    `import { createServer } from 'node:http';
    const server = createServer((_, res) => res.end('reached')).listen(0, async () => {
      for (const host of ['localhost', '127.0.0.1'])
        console.log(await (await fetch('http://' + host + ':' + server.address().port)).text());
      server.close();
    });`,
  );
  // Nothing listens there.
  const proxy = { HTTP_PROXY: 'http://127.0.0.1:9', NODE_USE_ENV_PROXY: '1', NO_PROXY: 'example.com' };
  expect(bootstrap(proxy)).toMatchObject({ code: 0, stdout: 'reached\nreached\n' });
});
