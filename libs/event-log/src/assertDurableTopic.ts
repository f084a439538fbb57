import { createKafkaClient, type KafkaClientOptions } from './createKafkaClient.ts';
import { ensureTopic } from './ensureTopic.ts';

const NO_ANSWER = new Set(['KafkaJSConnectionError', 'KafkaJSNumberOfRetriesExceeded', 'KafkaJSRequestTimeoutError']);

/**
 * Creates a topic unless it exists, and throws unless what it acknowledges is in as many places as it has to be. Where Kafka does not
 * answer nobody is kept from starting: who reads the topic says later what it lacks.
 */
export async function assertDurableTopic(topic: string, options: KafkaClientOptions): Promise<void> {
  if (options.copies === 'one') return;
  const lacks = await ensureTopic(createKafkaClient(options).kafka, topic, options.copies).catch((error: Error) => {
    if (NO_ANSWER.has(error.name)) return undefined;
    throw new Error(`the topic ${topic} cannot be made with several copies: ${wordsOf(error)}; ${ONE}`, {
      cause: error,
    });
  });
  if (lacks === undefined)
    options.log.warn({ topic }, 'Kafka does not answer: how many copies it keeps is seen when it does');
  else if (lacks.length > 0) throw new Error(`the topic ${topic} may lose records: ${lacks.join('; ')}; ${ONE}`);
}

const ONE = 'where its disk is replicated, or on a laptop, set STORE_COPIES=one';

/** kafkajs throws one error for all topics, which has the one for each. */
const wordsOf = (error: Error & { errors?: Error[] }): string =>
  (error.errors ?? [error]).map(({ message }) => message).join('; ');
