import luaparse from 'luaparse';
import * as runtime from './luaRuntime.ts';
import { LIBRARIES, type LuaFunction, LuaTable, type LuaValue } from './luaRuntime.ts';

type Expression = luaparse.Expression;
type Statement = luaparse.Statement;

/** A script, ready to run with its keys and arguments; `redisCall` is what `redis.call` does. */
export type CompiledScript = (redisCall: LuaFunction, keys: string[], args: string[]) => LuaValue;

const OPERATORS: Record<string, (left: string, right: string) => string> = {
  '+': (left, right) => `(lua.arithmetic(${left}) + lua.arithmetic(${right}))`,
  '-': (left, right) => `(lua.arithmetic(${left}) - lua.arithmetic(${right}))`,
  '*': (left, right) => `(lua.arithmetic(${left}) * lua.arithmetic(${right}))`,
  '/': (left, right) => `(lua.arithmetic(${left}) / lua.arithmetic(${right}))`,
  '==': (left, right) => `(${left} === ${right})`,
  '~=': (left, right) => `(${left} !== ${right})`,
  '<': (left, right) => `lua.isLess(${left}, ${right})`,
  '>': (left, right) => `lua.isLess(${right}, ${left})`,
  '<=': (left, right) => `lua.isAtMost(${left}, ${right})`,
  '>=': (left, right) => `lua.isAtMost(${right}, ${left})`,
  '..': (left, right) => `lua.concat(${left}, ${right})`,
};

const unknown = (what: { type: string }): never => {
  throw new Error(`the scripts' Lua has no ${what.type} here: teach it to compileLua`);
};

const nameOf = (identifier: { name: string }): string => `$${identifier.name}`;
const isCall = ({ type }: Expression): boolean => type === 'CallExpression';

/** The list of values of a call; any other expression has one. */
function toList(expression: Expression): string {
  if (expression.type !== 'CallExpression') return `[${toValue(expression)}]`;
  return `lua.call(${[toValue(expression.base), toArguments(expression.arguments)].filter(Boolean).join(', ')})`;
}

/** The last of several expressions gives all its values, the others their first. */
const toArguments = (expressions: Expression[]): string =>
  expressions
    .map((each, at) => (at === expressions.length - 1 && isCall(each) ? `...${toList(each)}` : toValue(each)))
    .join(', ');

function toValue(expression: Expression): string {
  switch (expression.type) {
    case 'NilLiteral':
      return 'undefined';
    case 'BooleanLiteral':
    case 'NumericLiteral':
      return String(expression.value);
    case 'StringLiteral':
      return JSON.stringify(expression.value);
    case 'Identifier':
      return nameOf(expression);
    case 'CallExpression':
      return `${toList(expression)}[0]`;
    case 'MemberExpression':
      return `lua.index(${toValue(expression.base)}, ${JSON.stringify(expression.identifier.name)})`;
    case 'IndexExpression':
      return `lua.index(${toValue(expression.base)}, ${toValue(expression.index)})`;
    case 'LogicalExpression':
      return toChoice(expression);
    case 'BinaryExpression':
      return (OPERATORS[expression.operator] ?? (() => unknown(expression)))(
        toValue(expression.left),
        toValue(expression.right),
      );
    case 'UnaryExpression':
      return toUnary(expression);
    case 'TableConstructorExpression':
      return toTable(expression);
    default:
      return unknown(expression);
  }
}

function toChoice({ operator, left, right }: luaparse.LogicalExpression): string {
  const [ifTrue, ifFalse] = operator === 'and' ? [toValue(right), 'chosen'] : ['chosen', toValue(right)];
  return `((chosen) => lua.isTrue(chosen) ? ${ifTrue} : ${ifFalse})(${toValue(left)})`;
}

function toUnary(expression: luaparse.UnaryExpression): string {
  const value = toValue(expression.argument);
  if (expression.operator === 'not') return `!lua.isTrue(${value})`;
  if (expression.operator === '-') return `(-lua.arithmetic(${value}))`;
  if (expression.operator === '#') return `lua.lengthOf(${value})`;
  return unknown(expression);
}

const toTable = ({ fields }: luaparse.TableConstructorExpression): string =>
  `new lua.LuaTable([${toArguments(fields.map((field) => (field.type === 'TableValue' ? field.value : unknown(field))))}])`;

const toBlock = (statements: Statement[]): string => `{ ${statements.map(toStatement).join(' ')} }`;

function toFunction({ parameters, body }: luaparse.FunctionDeclaration): string {
  const names = parameters.map((each) => (each.type === 'Identifier' ? nameOf(each) : unknown(each)));
  return `(${names.join(', ')}) => { ${body.map(toStatement).join(' ')} return []; }`;
}

function toAssignment(target: luaparse.AssignmentStatement['variables'][number], value: string): string {
  if (target.type === 'Identifier') return `${nameOf(target)} = ${value};`;
  const key = target.type === 'IndexExpression' ? toValue(target.index) : JSON.stringify(target.identifier.name);
  return `lua.setIndex(${toValue(target.base)}, ${key}, ${value});`;
}

function toStatement(statement: Statement): string {
  switch (statement.type) {
    case 'LocalStatement': {
      const names = statement.variables.map(nameOf);
      const [only, ...others] = statement.init;
      if (names.length === 1 && only && others.length === 0) return `let ${names[0]} = ${toValue(only)};`;
      return `let [${names.join(', ')}] = [${toArguments(statement.init)}];`;
    }
    case 'AssignmentStatement': {
      const [first, ...others] = statement.variables;
      const [value] = statement.init;
      if (first && value && others.length === 0) return toAssignment(first, toValue(value));
      const stores = statement.variables.map((target, at) => toAssignment(target, `values[${at}]`));
      return `{ const values = [${toArguments(statement.init)}]; ${stores.join(' ')} }`;
    }
    case 'CallStatement':
      return `${toList(statement.expression)};`;
    case 'FunctionDeclaration':
      if (!statement.isLocal || statement.identifier?.type !== 'Identifier') return unknown(statement);
      return `let ${nameOf(statement.identifier)} = ${toFunction(statement)};`;
    case 'ReturnStatement':
      return `return [${toArguments(statement.arguments)}];`;
    case 'IfStatement':
      return statement.clauses
        .map(
          (clause) =>
            (clause.type === 'ElseClause' ? '' : `if (lua.isTrue(${toValue(clause.condition)})) `) +
            toBlock(clause.body),
        )
        .join(' else ');
    case 'ForNumericStatement': {
      const name = nameOf(statement.variable);
      const step = statement.step ? toValue(statement.step) : '1';
      return `for (let ${name} = ${toValue(statement.start)}; ${name} <= ${toValue(statement.end)}; ${name} += ${step}) ${toBlock(statement.body)}`;
    }
    case 'ForGenericStatement':
      return toForEach(statement);
    default:
      return unknown(statement);
  }
}

/** Only `for … in ipairs(…)`. */
function toForEach(statement: luaparse.ForGenericStatement): string {
  const [iterator] = statement.iterators;
  const isIpairs =
    iterator?.type === 'CallExpression' && iterator.base.type === 'Identifier' && iterator.base.name === 'ipairs';
  if (!isIpairs) return unknown(statement);
  return `for (const [${statement.variables.map(nameOf).join(', ')}] of lua.iterate(${toArguments(iterator.arguments)})) ${toBlock(statement.body)}`;
}

/**
 * Compiles a Redis script to a function. The language is Lua 5.1 with doubles as its only numbers, as in Redis. Only the syntax that
 * the scripts use is known. Any other syntax throws an error with its name.
 */
export function compileLua(source: string): CompiledScript {
  const { body } = luaparse.parse(source, { luaVersion: '5.1', encodingMode: 'x-user-defined' });
  const names = ['redis', 'KEYS', 'ARGV', ...Object.keys(LIBRARIES)];
  const compiled = new Function(
    'lua',
    ...names.map((name) => `$${name}`),
    `'use strict'; ${body.map(toStatement).join('\n')} return [];`,
  );
  return (redisCall, keys, args) => {
    const redis = new LuaTable();
    redis.set('call', redisCall);
    // An error here is a mistake of the script, and has to be seen.
    redis.set('pcall', redisCall);
    const [answer] = compiled(
      runtime,
      redis,
      new LuaTable([...keys]),
      new LuaTable([...args]),
      ...Object.values(LIBRARIES),
    ) as LuaValue[];
    return answer;
  };
}
