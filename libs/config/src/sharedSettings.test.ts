import { expect, it } from '@jest/globals';
import { databaseUrlSchema, kafkaBrokersSchema, keysPageUrlSchema, serviceUrlSchema } from './sharedSettings.ts';

it.each(['https://dashboard.example/keys', 'http://localhost:3000/keys?tab=1'])(
  'takes %s for the page of API keys',
  (url) => {
    expect(keysPageUrlSchema.parse(url)).toBe(url);
  },
);

it.each(['', 'dashboard.example/keys', '/keys', 'javascript:alert(1)'])(
  'takes "%s" for no page: callers are sent there',
  (text) => {
    expect(keysPageUrlSchema.safeParse(text).success).toBe(false);
  },
);

it('names no page of API keys where none is set', () => {
  expect(keysPageUrlSchema.parse(undefined)).toBeUndefined();
});

it('takes one broker or several, and none where it is not set', () => {
  expect(kafkaBrokersSchema.parse('a:9092')).toEqual(['a:9092']);
  expect(kafkaBrokersSchema.parse('a:9092,10.0.0.7:9093')).toEqual(['a:9092', '10.0.0.7:9093']);
  expect(kafkaBrokersSchema.parse(undefined)).toBeUndefined();
});

it.each(['a', 'a:9092, b:9092', 'a:9092,', ',', 'kafka://a'])('takes "%s" for no brokers', (text) => {
  expect(kafkaBrokersSchema.safeParse(text).success).toBe(false);
});

it.each([
  [serviceUrlSchema, 'http://auth:8003', 'ftp://auth:8003'],
  [serviceUrlSchema, 'https://auth.internal', 'auth:8003'],
  [databaseUrlSchema, 'postgresql://auth:secret@db/auth', 'http://db/auth'],
  [databaseUrlSchema, 'postgres://db:5433/auth', 'db:5433'],
])('tells the address of what it stands for from others (%#)', (schema, right, wrong) => {
  expect(schema.parse(right)).toBe(right);
  expect(schema.safeParse(wrong).success).toBe(false);
});
