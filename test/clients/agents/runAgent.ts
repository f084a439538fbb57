import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The end of an agent's job. */
export interface AgentRun {
  code: number | null;
  /** All that it printed. */
  output: string;
  /** The folder in which it worked. */
  folder: string;
}

export interface AgentJob {
  /** The address of the API, which ends in `/v1`. */
  baseUrl: string;
  apiKey: string;
  model: string;
  prompt: string;
}

/** A coding agent as its users run it, without a person. */
export interface Agent {
  name: string;
  /** Whether a start takes seconds of processor time: it runs where agents are required. */
  isSlow?: true;
  /** Whether it waits for a limit as long as the service says, however long that is. The others tell their users. */
  waitsForLimits?: true;
  /** Its tool that runs a command or writes a file, and the arguments that write `text` into `file`. */
  writing(file: string, text: string): { tool: string; arguments: string };
  /** Its tool that reads a file. */
  reading(file: string): { tool: string; arguments: string };
  run(job: AgentJob): Promise<AgentRun>;
}

/** An agent that hangs is ended. On a busy machine opencode takes more than a minute to begin. */
export const JOB_TIMEOUT_MS = 300_000;

interface Command {
  program: string;
  args: string[];
  env: Record<string, string>;
}

/** Runs a program in a folder of its own, with a home of its own. */
async function runIn(root: string, toCommand: (home: string, folder: string) => Promise<Command>): Promise<AgentRun> {
  const [home, folder] = [join(root, 'home'), join(root, 'work')];
  for (const each of [home, folder]) await mkdir(each, { recursive: true });
  const { program, args, env } = await toCommand(home, folder);
  const child = spawn(program, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: home, ...env },
    timeout: JOB_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve({ code, output, folder }));
  });
}

/** Codex, which speaks the Responses API. */
export const codex = (installed: string, root: string): Agent => ({
  name: 'Codex',
  writing: (file, text) => ({
    tool: 'exec_command',
    arguments: JSON.stringify({ cmd: `printf %s '${text}' > ${file}` }),
  }),
  reading: (file) => ({ tool: 'exec_command', arguments: JSON.stringify({ cmd: `cat ${file}` }) }),
  run: async ({ baseUrl, apiKey, model, prompt }) =>
    runIn(await mkdtemp(join(root, 'codex-')), async (home) => {
      await mkdir(join(home, '.codex'), { recursive: true });
      const config = [
        `model = ${JSON.stringify(model)}`,
        'model_provider = "turnpike"',
        'web_search = "disabled"',
        '[model_providers.turnpike]',
        'name = "Turnpike"',
        `base_url = ${JSON.stringify(baseUrl)}`,
        'env_key = "TURNPIKE_API_KEY"',
        'wire_api = "responses"',
        'request_max_retries = 0',
        'stream_max_retries = 0',
        '',
      ];
      await writeFile(join(home, '.codex/config.toml'), config.join('\n'));
      return {
        program: process.execPath,
        args: [
          join(installed, 'node_modules/@openai/codex/bin/codex.js'),
          ...['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
        ],
        env: { TURNPIKE_API_KEY: apiKey },
      };
    }),
});

/** Claude Code, which speaks the Messages API. */
export const claudeCode = (installed: string, root: string): Agent => ({
  name: 'Claude Code',
  writing: (file, text) => ({ tool: 'Bash', arguments: JSON.stringify({ command: `printf %s '${text}' > ${file}` }) }),
  reading: (file) => ({ tool: 'Bash', arguments: JSON.stringify({ command: `cat ${file}` }) }),
  run: async ({ baseUrl, apiKey, model, prompt }) =>
    runIn(await mkdtemp(join(root, 'claude-')), async () => ({
      program: join(installed, `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`),
      args: ['-p', prompt, '--allowedTools', 'Bash'],
      env: {
        ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ''),
        ANTHROPIC_AUTH_TOKEN: apiKey,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_SMALL_FAST_MODEL: model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_MAX_RETRIES: '0',
      },
    })),
});

/** opencode, which speaks the Responses API through this provider. By a compatible one it speaks chat, and shows codes for sentences. */
export const opencode = (installed: string, root: string): Agent => ({
  name: 'opencode',
  isSlow: true,
  waitsForLimits: true,
  writing: (file, text) => ({
    tool: 'bash',
    arguments: JSON.stringify({ command: `printf %s '${text}' > ${file}`, description: 'Writes a file' }),
  }),
  reading: (file) => ({
    tool: 'bash',
    arguments: JSON.stringify({ command: `cat ${file}`, description: 'Reads a file' }),
  }),
  run: async ({ baseUrl, apiKey, model, prompt }) =>
    runIn(await mkdtemp(join(root, 'opencode-')), async (_home, folder) => {
      const config = {
        provider: {
          turnpike: {
            npm: '@ai-sdk/openai',
            name: 'Turnpike',
            options: { baseURL: baseUrl, apiKey: '{env:TURNPIKE_API_KEY}' },
            models: { [model]: { name: model } },
          },
        },
        model: `turnpike/${model}`,
        small_model: `turnpike/${model}`,
        autoupdate: false,
        share: 'disabled',
        permission: { bash: 'allow' },
      };
      await writeFile(join(folder, 'opencode.json'), JSON.stringify(config));
      return {
        program: join(installed, `node_modules/opencode-${process.platform}-${process.arch}/bin/opencode`),
        // A word with a space in it would stand in quotes.
        args: ['run', '--pure', ...prompt.split(' ')],
        env: { TURNPIKE_API_KEY: apiKey, OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' },
      };
    }),
});
