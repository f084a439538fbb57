/** The vLLM release whose wire format this is. */
export const VERSION = '0.32.0';
