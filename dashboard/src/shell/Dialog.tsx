import { Button, Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';

/**
 * A dialog of the browser: it keeps the focus, Escape closes it, and the focus goes back to where it was. Without `onClose` its content
 * alone closes it.
 */
export function Dialog({ title, onClose, children }: { title: string; onClose?: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      closedby={onClose ? 'closerequest' : 'none'}
      onCancel={onClose ?? ((event) => event.preventDefault())}
      className="dialog"
    >
      <Stack>
        <Title order={2} size="h3" id={id}>
          {title}
        </Title>
        {children}
      </Stack>
    </dialog>
  );
}

/** The buttons at the end of a dialog. */
export function Choice({
  onClose,
  isPending = false,
  children,
  ...button
}: {
  onClose: () => void;
  isPending?: boolean;
  children: ReactNode;
  color?: string;
  type?: 'submit';
  onClick?: () => void;
}) {
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onClose}>
        Cancel
      </Button>
      <Button loading={isPending} {...button}>
        {children}
      </Button>
    </Group>
  );
}
