import { Stack, Title } from '@mantine/core';
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';

/** A dialog of the browser: it keeps the focus, Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={onClose} className="dialog">
      <Stack>
        <Title order={2} size="h3" id={id}>
          {title}
        </Title>
        {children}
      </Stack>
    </dialog>
  );
}
