let isSilenced = false;

/**
 * Keeps one warning of kafkajs 2.2.4 out of the process' output: it computes a timer's delay that may be just below zero
 * (its issue 1751), which Node takes as 1 ms and complains about.
 */
export function silenceTimeoutNegativeWarning(): void {
  if (isSilenced) return;
  isSilenced = true;
  const emitWarning = process.emitWarning.bind(process) as (...args: unknown[]) => void;
  process.emitWarning = (...args: unknown[]): void => {
    if (args[1] !== 'TimeoutNegativeWarning') emitWarning(...args);
  };
}
