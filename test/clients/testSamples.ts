import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { stack } from '../conformance/support/plainStack.ts';
import { makeAccount } from '../support/makeAccount.ts';

const PAGE = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
const PYTHON = process.env.TURNPIKE_TEST_PYTHON;
const TESTS_FOLDER = new URL('..', import.meta.url);

const run = promisify(execFile);

/** The code block of docs/clients.md that is marked as a sample in this language. */
function sampleOf(language: string): string {
  const [, code] = PAGE.split(`<!-- sample: ${language} -->\n\`\`\`${language}\n`);
  if (code === undefined) throw new Error(`docs/clients.md has no sample in ${language}`);
  return code.slice(0, code.indexOf('```'));
}

const SAMPLES = [
  {
    language: 'ts',
    command: process.execPath,
    // Imports of the sample come first all the same.
    args: ['--input-type=module-typescript', '--eval', `const client = new OpenAI();\n${sampleOf('ts')}`],
  },
  {
    language: 'python',
    command: PYTHON,
    args: ['-c', `from openai import OpenAI\nclient = OpenAI()\n${sampleOf('python')}`],
  },
];

for (const { language, command, args } of SAMPLES) {
  (command === undefined ? it.skip : it)(
    `the sample of docs/clients.md in ${language} prints why it was refused`,
    async () => {
      const { apiKey } = await makeAccount(stack);
      const env = { PATH: process.env.PATH, OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: stack.baseUrl };
      const { stdout } = await run(command as string, args, { cwd: TESTS_FOLDER, env });
      expect(stdout).toMatch(/^422 size must be .*512x512.* size\n$/);
    },
  );
}
