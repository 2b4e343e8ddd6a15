/**
 * The commands for the sandbox of a running server, and the one that starts a sandbox alone. Part of the
 * table of commands; `sandbox/` defines what they do.
 */
import type { Provider } from '#contract/resources.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { Command, Flag, LocalCommand } from './command.ts'

export const providerWords = providerNames.join('|')
/** The flag that sets the port of a provider's emulator. */
export const portFlag = (provider: Provider) => `${provider}-port`
const everywhere: Flag = { name: 'provider', value: providerWords, help: 'everywhere when absent' }
const atOne: Flag = { name: 'provider', value: providerWords, help: 'else the first of them' }
const account: Flag = { name: 'account', value: 'A', help: 'name of an account; else the first' }
const atOnce = 'The next answer shows it; a bank row of the future is pending until then.'

const connectionsTable = (empty: string) =>
  ({
    kind: 'table',
    rows: 'connections',
    columns: ['id', 'provider', 'institutionName', 'status', 'refreshed'],
    empty,
  }) as const
const nobody = connectionsTable('Done. Nobody has linked this person yet.')

/** Changes what the command names at a person or a provider, and shows the answer as a record. */
const change = (verb: string, summary: string, path: string): Command => ({
  noun: 'sandbox',
  verb,
  summary,
  places: [path.startsWith('people/') ? 'PERSON' : 'PROVIDER'],
  flags: [],
  method: 'POST',
  path: `/admin/sandbox/${path}`,
  show: { kind: 'record' },
})

/** Changes a login or a consent; the connections that depend on it are refreshed. */
const state = (verb: string, summary: string): Command => ({
  ...change(verb, summary, `people/{}/${verb.replace(' ', '/')}`),
  flags: [everywhere],
  show: nobody,
})

export const sandboxCommands: readonly Command[] = [
  {
    noun: 'sandbox',
    verb: 'people',
    summary: 'list the made-up people and the flags that link them',
    places: [],
    flags: [],
    method: 'GET',
    path: '/admin/sandbox/people',
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['person', 'provider', 'flags', 'shows', 'next'],
      empty: 'There are no people.',
    },
  },
  {
    ...change('rows add', 'add a transaction or a trade', 'people/{}/rows'),
    flags: [
      { name: 'amount', value: 'D', isRequired: true, help: 'signed decimal; out is negative' },
      atOne,
      account,
      { name: 'description', value: 'T', help: 'text of the row' },
      { name: 'date', value: 'ISO', help: 'else now; at a bank pending until then' },
      { name: 'type', value: 'T', help: 'of a trade: BUY when absent' },
      { name: 'symbol', value: 'S', help: 'of a trade' },
      { name: 'units', value: 'D', help: 'of a trade' },
      { name: 'price', value: 'D', help: 'of a trade' },
    ],
    show: { kind: 'record', note: atOnce },
  },
  {
    ...change('rows change', 'change a row; the newest without --row', 'people/{}/rows/change'),
    flags: [
      { name: 'row', value: 'ID', help: 'as shown by `rows add` or in a transaction' },
      atOne,
      account,
      { name: 'amount', value: 'D', help: 'signed decimal' },
      { name: 'description', value: 'T', help: 'text of the row' },
      { name: 'date', value: 'ISO', help: 'instant with Z or an offset' },
    ],
    show: { kind: 'record', note: atOnce },
  },
  state('login break', 'the login at the institution stops working'),
  state('login mend', 'the login works again'),
  state('login challenge', 'the login waits for a second factor'),
  state('consent expire', 'the consent has run out'),
  state('consent revoke', 'the person withdraws the consent'),
  state('consent renew', 'the person gives the consent again'),
  state('permission withdraw', 'the person’s own app may not read transactions'),
  state('permission grant', 'the person’s own app may read transactions again'),
  state('address bar', 'the person’s own app does not allow this address'),
  state('address admit', 'the person’s own app allows this address again'),
  {
    ...change(
      'latency',
      'delay every answer of a provider by milliseconds',
      'providers/{}/latency',
    ),
    places: ['PROVIDER', 'MS'],
    placeFields: ['ms'],
    method: 'PUT',
  },
  {
    ...change('fail', 'let a provider refuse its calls with a status', 'providers/{}/failures'),
    places: ['PROVIDER', 'STATUS'],
    placeFields: ['status'],
    flags: [
      {
        name: 'times',
        value: 'N',
        isNumber: true,
        help: 'number of calls; until reset when absent',
      },
      { name: 'retry-after', value: 'S', isNumber: true, help: 'seconds that the provider names' },
    ],
  },
  {
    ...change('webhook', 'send a webhook of a provider about a person', 'people/{}/webhooks'),
    places: ['PERSON', 'EVENT'],
    placeFields: ['event'],
    flags: [
      { name: 'provider', value: providerWords, help: 'else the one that has such an event' },
      account,
      { name: 'late', value: 'S', isNumber: true, help: 'seconds until it is sent' },
      { name: 'twice', value: null, help: 'sent twice' },
      { name: 'out-of-order', value: null, help: 'sent after the next one' },
      { name: 'wrong-signature', value: null, help: 'signed for another body' },
    ],
    show: { kind: 'record', note: 'Only the webhook is sent: nothing changed at the provider.' },
  },
  change(
    'rotate-key',
    'let a provider sign its webhooks with a new key',
    'providers/{}/signing-key',
  ),
  {
    noun: 'sandbox',
    verb: 'reset',
    summary: 'reset all people and providers to their initial state',
    places: [],
    flags: [],
    method: 'POST',
    path: '/admin/sandbox/reset',
    show: connectionsTable('Done. Nobody in the sandbox is linked.'),
  },
]

/** The flag that names who gets the webhooks of emulators that run alone. */
export const webhookFlag = 'webhooks-to'

/** `tributary sandbox` without a verb. */
export const sandboxStart: LocalCommand = {
  noun: 'sandbox',
  verb: '',
  summary: 'start the emulators alone, on fixed ports, until Ctrl-C',
  places: [],
  flags: [
    ...providerNames.map(
      (provider, index): Flag => ({
        name: portFlag(provider),
        value: 'N',
        isNumber: true,
        help: `${factsOf(provider).sandboxPort} when absent${index === 0 ? '; 0: any free one' : ''}`,
      }),
    ),
    { name: 'seed', value: 'T', help: 'the same text and day give the same people and rows' },
    { name: webhookFlag, value: 'URL', help: 'public address of the Tributary that gets webhooks' },
  ],
}
