import { Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { callRoute } from '@turnpike/console-api/callRoute';
import { toCardName } from '@turnpike/console-api/mandateText';
import { useState } from 'react';
import type * as z from 'zod/mini';
import { routes } from '../account.ts';
import { useChange } from '../shell/change.tsx';
import { Dialog } from '../shell/Dialog.tsx';
import { ConfirmDialog } from '../shell/dialogs.tsx';
import { Loaded } from '../shell/states.tsx';
import { RowButton } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';

export type Card = z.output<typeof routes.listCards.answer>['cards'][number];

/** Returns the name of a card with its last month: `Visa ending in 4242 (12/34)`. */
export const nameOf = (card: Card): string =>
  `${toCardName(card)} (${card.expires.slice(5)}/${card.expires.slice(2, 4)})`;

/** Lists the saved cards of the organization. */
export function useCards() {
  const { organizationId } = useWorkspace();
  return useQuery({
    queryKey: ['cards', organizationId],
    queryFn: () => callRoute(routes.listCards, { params: { organization_id: organizationId } }),
    select: ({ cards }) => cards,
  });
}

/** The saved cards of the organization, with what removes them. */
export function CardsDialog({ onClose }: { onClose: () => void }) {
  const cards = useCards();
  const [removed, setRemoved] = useState<Card>();
  if (removed) return <Remove card={removed} onClose={() => setRemoved(undefined)} />;
  return (
    <Dialog title="Saved cards" onClose={onClose}>
      <Loaded query={cards}>
        {(saved) =>
          saved.length === 0 ? (
            <Text>No card is saved. A payment by card saves it.</Text>
          ) : (
            saved.map((card) => (
              <Group key={card.card_id} justify="space-between">
                <Text>{nameOf(card)}</Text>
                <RowButton label={`Remove ${nameOf(card)}`} onClick={() => setRemoved(card)}>
                  Remove
                </RowButton>
              </Group>
            ))
          )
        }
      </Loaded>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </Group>
    </Dialog>
  );
}

function Remove({ card, onClose }: { card: Card; onClose: () => void }) {
  const { organizationId } = useWorkspace();
  const params = { organization_id: organizationId, card_id: card.card_id };
  const remove = useChange(() => callRoute(routes.removeCard, { params }), { onDone: onClose });
  return (
    <ConfirmDialog title="Remove a card" action="Remove" change={remove} onClose={onClose}>
      {nameOf(card)} is charged no more. Automatic top-ups that charge it are switched off. A payment that is under way
      goes on.
    </ConfirmDialog>
  );
}
