import { userInfo } from 'node:os';
import type { ReadStream, WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { InternalCallError } from '@turnpike/internal-api/transport/createClient';
import packageFile from '../../package.json' with { type: 'json' };
import { fitTerminal } from '../report/fitTerminal.ts';
import { formatTable } from '../report/formatTable.ts';
import { callEdge } from '../stack/callEdge.ts';
import { createServices } from '../stack/createServices.ts';
import { findStack, findStacks, type ServiceName, type StackAccess, toPlaceText } from '../stack/findStack.ts';
import { readHealth } from '../stack/readHealth.ts';
import { toProblem } from '../stack/toProblem.ts';
import type { Context, Report } from './command.ts';
import { COMMANDS } from './commands.ts';
import { confirm } from './confirm.ts';
import { formatHelp } from './formatHelp.ts';
import { RefusedError, UsageError } from './operatorError.ts';
import { type CommandLine, parseCommandLine } from './parseCommandLine.ts';

const DONE = 0;
const REFUSED = 1;
const WRONG_USAGE = 2;
const LOOK = 3;
/** Moves to the top and clears what is below (ANSI). */
const CLEAR_SCREEN = '\u001b[H\u001b[J';

export interface OperatorProcess {
  args: string[];
  env: NodeJS.ProcessEnv;
  stdin: ReadStream;
  stdout: WriteStream;
  stderr: WriteStream;
}

/**
 * Runs one command line and returns the exit code: 0 done, 1 refused or failed, 2 wrong usage, 3 done but something needs attention.
 * Standard output gets only the report. The report of a change names its stack and region. Standard error gets an error as one line.
 */
export async function runOperator(operatorProcess: OperatorProcess): Promise<number> {
  const { args, stdout, stderr } = operatorProcess;
  // Plain where the output is no terminal, or NO_COLOR is set.
  const heading = (text: string): string => styleText('bold', text, { stream: stdout });
  try {
    const line = parseCommandLine(args, COMMANDS);
    if (line.kind === 'help') {
      stdout.write(`${formatHelp(line.commands, heading)}\n`);
      return DONE;
    }
    if (line.kind === 'version') {
      stdout.write(`turnpike ${packageFile.version}\n`);
      return DONE;
    }
    const { output, code } = await run(line, operatorProcess, heading);
    stdout.write(`${output}\n`);
    return code;
  } catch (error) {
    if (error instanceof UsageError || error instanceof RefusedError) {
      stderr.write(`${error.message}\n`);
      return error instanceof UsageError ? WRONG_USAGE : REFUSED;
    }
    throw error; // a mistake of this program's own, and whoever mends it wants to see where
  }
}

async function run(
  { command, input, isJson, stack, region }: Extract<CommandLine, { kind: 'run' }>,
  { env, stdin, stdout, stderr }: OperatorProcess,
  heading: (text: string) => string,
): Promise<{ output: string; code: number }> {
  const choice = { stack, region, env };
  const accesses = command.isOfAllRegions ? await findStacks(choice) : [await findStack(choice)];
  const [access] = accesses;
  if (!access) throw new RefusedError('This stack has no region.');
  const writtenTo = { stack: access.stack, region: accesses.length === 1 ? access.region : 'all' };
  const place = toPlaceText(writtenTo);
  let isChange = false;
  const toText = ({ document, text }: Report): string => (isJson ? JSON.stringify(document, null, 2) : text);
  const regions: Context[] = [];
  const toContext = (of: StackAccess): Context => ({
    region: of.region,
    regions,
    services: createServices(of, {
      user: findUser(),
      onChange() {
        isChange = true;
      },
    }),
    readHealth: (service) => readHealth(addressOf(of, service)),
    callEdge: async () => of.edge && callEdge(of.edge.publicUrl),
    addressOf: (service) => addressOf(of, service),
    explain(error) {
      if (error instanceof RefusedError) return error.message;
      return error instanceof InternalCallError ? toProblem(error, of.urls) : undefined;
    },
    table: (columns, rows) => formatTable(rows, { columns, heading }),
    ...(stdout.isTTY &&
      !isJson && { redraw: (text) => void stdout.write(`${CLEAR_SCREEN}${fitTerminal(text, stdout)}`) }),
    announce: (report) => void stdout.write(`${toText(report)}\n`),
    confirm: (question, expected) => confirm({ stdin, stderr }, `On ${place}: ${question}`, expected),
  });
  regions.push(...accesses.map(toContext));
  const context = regions[0] as Context;
  const {
    document,
    text,
    isFailure = false,
    wantsLook = false,
  } = await command.run(input, context).catch((error: unknown) => {
    const words = context.explain(error);
    throw words === undefined ? error : new RefusedError(`${words} [${place}]`, { cause: error });
  });
  const whole = isChange ? { ...document, written_to: writtenTo } : document;
  const shown = isChange ? `On ${place}:\n${text}` : text;
  const code = isFailure ? REFUSED : wantsLook ? LOOK : DONE;
  return { output: toText({ document: whole, text: shown }), code };
}

const addressOf = ({ urls, edge }: StackAccess, service: ServiceName | 'edge'): string | undefined =>
  service === 'edge' ? edge?.internalUrl : urls[service];

/** Returns the user of the operating system, in characters that a token can carry. */
function findUser(): string {
  try {
    return userInfo()
      .username.replaceAll(/[^A-Za-z0-9_@+-]/g, '_')
      .slice(0, 64);
  } catch {
    return `uid-${process.getuid?.()}`; // a container may run as one that has no name
  }
}
