import { expect, it } from '@jest/globals';
import { preparedNameOf, sql } from './sql.ts';

it('makes a parameter of each value', () => {
  const { text, values } = sql`SELECT ${1}::INT + ${"2'; DROP TABLE job"}::INT, ${null}`;
  expect({ text, values }).toEqual({
    text: 'SELECT $1::INT + $2::INT, $3',
    values: [1, "2'; DROP TABLE job", null],
  });
});

it.each([
  ['one parameter in the middle', sql`(${1})`, 'SELECT $1, ($2), $3', [0, 1, 2]],
  ['parameters at both ends', sql`${'a'} + ${'b'}`, 'SELECT $1, $2 + $3, $4', [0, 'a', 'b', 2]],
  ['no parameter', sql`now()`, 'SELECT $1, now(), $2', [0, 2]],
  ['a fragment of its own', sql`f(${sql`${3}::INT`}, ${4})`, 'SELECT $1, f($2::INT, $3), $4', [0, 3, 4, 2]],
  ['nothing', sql``, 'SELECT $1, , $2', [0, 2]],
])('numbers the parameters around a fragment with %s', (_what, fragment, text, values) => {
  expect(sql`SELECT ${0}, ${fragment}, ${2}`).toMatchObject({ text, values });
  expect(sql`${fragment}`).toMatchObject({ text: fragment.text, values: fragment.values });
});

it('has one name for each text, whatever the values are', () => {
  const find = (id: number) => sql`SELECT ${id}::INT AS id`;
  expect(find(1).name).toBe(find(2).name);
  expect(find(1).name).not.toBe(sql`SELECT ${1}::INT AS "id"`.name);
  expect(preparedNameOf(find(3).text)).toBe(find(1).name);
  expect(preparedNameOf('SELECT what no tag has made')).toBeUndefined();
});
