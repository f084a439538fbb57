import { Button, Code, CopyButton, Stack } from '@mantine/core';

/** A text to copy: code, or the secret of a key. */
export function Snippet({ label, text }: { label: string; text: string }) {
  return (
    <Stack gap="xs" align="flex-start">
      <Code
        block
        component="section"
        aria-label={label}
        style={{ width: '100%', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
      >
        {text}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button variant="default" onClick={copy}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </Stack>
  );
}
