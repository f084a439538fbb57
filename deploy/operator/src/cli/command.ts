import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type Columns, tabulate, withAmounts } from '../report/entries.ts';
import type { Column } from '../report/formatTable.ts';
import type { EdgeCall } from '../stack/callEdge.ts';
import type { Services } from '../stack/createServices.ts';
import type { ServiceName } from '../stack/findStack.ts';
import type { Health } from '../stack/readHealth.ts';
import { flag } from './fields.ts';

/** The result of a command, once for programs and once for people. */
export interface Report {
  /** Printed with `--json`: one document, amounts as decimal strings. */
  document: object;
  /** Printed without it. */
  text: string;
  /** True if the state is not as it should be: the report is printed, and the exit code is 1. */
  isFailure?: boolean;
  /** True if all works and something wants a look: the report is printed, and the exit code is 3, unless it is a failure. */
  wantsLook?: boolean;
}

/** The dependencies of commands. */
export interface Context {
  region: string;
  /** The contexts of all regions of the stack, for a command of all regions. */
  regions: Context[];
  /** Calls the stack's services as the operator. */
  services: Services;
  /** Asks a service how it is. Never rejects. */
  readHealth(service: ServiceName | 'edge'): Promise<Health>;
  /** Makes one call through the edge. Undefined where the stack does not name the edge. Never rejects. */
  callEdge(): Promise<EdgeCall | undefined>;
  /** The address of a service's internal listener, for operators to see. */
  addressOf(service: ServiceName | 'edge'): string | undefined;
  /** Says in a line why a call failed. Undefined for a mistake of this program. */
  explain(error: unknown): string | undefined;
  table(columns: Column[], rows: string[][]): string;
  /** Prints a report while the command goes on. */
  announce(report: Report): void;
  /** Shows a text in place of all that stands in the terminal. Absent where the output is none, or JSON is wanted. */
  redraw?: (text: string) => void;
  /**
   * Asks at the terminal to type `expected`. Throws a `RefusedError` for any other answer, and a `UsageError` that names
   * the flag `--yes` where there is no terminal.
   */
  confirm(question: string, expected: string): Promise<void>;
}

export interface Option {
  /** The name of its value in the help; none for a flag. */
  value?: string;
  help: string;
}

/** Options of every command. */
export const COMMON_OPTIONS: Record<string, Option> = {
  json: { help: 'print one JSON document instead of a table' },
  stack: { value: 'PORT', help: 'the first port of a stack that runs here, or the stack.json of any' },
  region: { value: 'NAME', help: 'the region, where the stack has several' },
  help: { help: 'show this' },
};

export interface Command {
  /** The words of the command line: `keys create`. */
  words: string;
  summary: string;
  /** Operands after the words, in order: the name in the help for each field of the input. */
  operands: Record<string, string>;
  options: Record<string, Option>;
  input: z.ZodType;
  /** Works on every region of a stack if the command line names none, or on the account layer, which all regions have together. */
  isOfAllRegions?: true;
  run(input: unknown, context: Context): Promise<Report>;
}

const NOTHING = z.object({});
const describedSchema = z.object({ name: z.string().optional(), help: z.string().optional() });

interface CommandDefinition<Input extends z.ZodObject>
  extends Pick<Command, 'words' | 'summary'>,
    Partial<Pick<Command, 'isOfAllRegions'>> {
  /**
   * Operands and options, as `fields.ts` makes them. All of them are texts or absent; flags are true or absent. Absent: the command takes
   * none.
   */
  input?: Input;
  run(input: z.output<Input>, context: Context): Promise<Report>;
}

/** Makes a command whose `run` gets what its `input` schema made of the command line. */
export function defineCommand<Input extends z.ZodObject = typeof NOTHING>(
  definition: CommandDefinition<Input>,
): Command {
  const { input = NOTHING, run } = definition;
  const operands: Command['operands'] = {};
  const options: Command['options'] = {};
  for (const [field, schema] of Object.entries(input.shape)) {
    const { name, help } = describedSchema.parse((schema as z.ZodType).meta());
    if (help === undefined) operands[field] = name ?? field;
    else options[field] = { help, ...(name !== undefined && { value: name }) };
  }
  const toReport: Command['run'] = (values, context) => run(input.parse(values) as z.output<Input>, context);
  return { ...definition, input, operands, options, run: toReport };
}

interface ListDefinition<Input extends z.ZodObject, Entry extends object>
  extends Omit<CommandDefinition<Input>, 'run'> {
  /** The name of the entries in the document. */
  name: string;
  columns: Columns<Entry>;
  /** Printed in place of a table without rows. */
  ifNone: string | ((input: z.output<Input>) => string);
  /** Reads every entry. */
  read(input: z.output<Input>, context: Context): Promise<Entry[]>;
  /** Makes an entry of the document. Absent: the entry with its amounts in words. */
  toDocument?(entry: NoInfer<Entry>): object;
  /** Returns the fields of the document beside the entries. */
  about?(input: z.output<Input>): object;
  /** Whether an entry is itself a failure. */
  isFailure?: boolean;
}

/** Makes a command that shows entries, one in a row. */
export function defineList<Entry extends object, Input extends z.ZodObject = typeof NOTHING>({
  name,
  columns,
  ifNone,
  read,
  toDocument = withAmounts,
  about,
  isFailure = false,
  ...definition
}: ListDefinition<Input, Entry>): Command {
  return defineCommand<Input>({
    ...definition,
    async run(input, context) {
      const entries = await read(input, context);
      const none = typeof ifNone === 'string' ? ifNone : ifNone(input);
      return {
        document: { ...about?.(input), [name]: entries.map(toDocument) },
        text: entries.length > 0 ? tabulate(context.table, columns, entries) : none,
        isFailure: isFailure && entries.length > 0,
      };
    },
  });
}

const REDRAW_MS = 1_000;

export const WATCH = flag('go on showing it anew, every second, where the output is a terminal');

/** Reports once; with `watch`, and at a terminal, again and again in place. */
export async function reportOrWatch(
  report: (context: Context) => Promise<Report>,
  { watch, context }: { watch: boolean; context: Context },
): Promise<Report> {
  while (watch && context.redraw) {
    // A service that gives no answer for a moment does not end the look at it.
    const text = await report(context).then(
      (shown) => shown.text,
      (error: unknown) => {
        const problem = context.explain(error);
        if (problem === undefined) throw error;
        return problem;
      },
    );
    context.redraw(text);
    await delay(REDRAW_MS);
  }
  return report(context);
}
