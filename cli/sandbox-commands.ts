/**
 * The commands on the sandbox of a running server, and the one that starts a sandbox alone. Part of the table of
 * commands; what they do is decided by `sandbox/`.
 */
import type { Command, Flag, LocalCommand } from './commands.ts'

const provider: Flag = { name: 'provider', value: 'P', help: 'fiskil, akahu or snaptrade' }
const everywhere: Flag = { ...provider, help: `${provider.help}; everywhere when absent` }
const account: Flag = { name: 'account', value: 'A', help: 'name of an account; else the first' }
const uncached =
  'It is seen by the next uncached read: kept are transactions for 30 minutes, trades for 10. Another from or to asks at once.'

const connectionsTable = (empty: string) =>
  ({
    kind: 'table',
    rows: 'connections',
    columns: ['id', 'provider', 'institutionName', 'status', 'refreshed'],
    empty,
  }) as const
const nobody = connectionsTable('Done. Nobody has linked this person yet.')

/** A change of a login or a consent: the connections that stand on it are asked again. */
const state = (verb: string, summary: string): Command => ({
  noun: 'sandbox',
  verb,
  summary,
  places: ['PERSON'],
  flags: [everywhere],
  method: 'POST',
  path: `/admin/sandbox/people/{}/${verb.replace(' ', '/')}`,
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
      empty: 'There is nobody.',
    },
  },
  {
    noun: 'sandbox',
    verb: 'rows add',
    summary: 'add a transaction or a trade',
    places: ['PERSON'],
    flags: [
      { name: 'amount', value: 'D', isRequired: true, help: 'signed decimal; out is negative' },
      { ...provider, help: `${provider.help}; else the first of them` },
      account,
      { name: 'description', value: 'T', help: 'text of the row' },
      { name: 'date', value: 'ISO', help: 'else now; at a bank pending until then' },
      { name: 'type', value: 'T', help: 'of a trade: BUY when absent' },
      { name: 'symbol', value: 'S', help: 'of a trade' },
      { name: 'units', value: 'D', help: 'of a trade' },
      { name: 'price', value: 'D', help: 'of a trade' },
    ],
    method: 'POST',
    path: '/admin/sandbox/people/{}/rows',
    show: { kind: 'record', note: uncached },
  },
  {
    noun: 'sandbox',
    verb: 'rows change',
    summary: 'change a row, the newest unless told otherwise',
    places: ['PERSON'],
    flags: [
      { name: 'row', value: 'ID', help: 'as `rows add` or a transaction tells it' },
      { ...provider, help: `${provider.help}; else the first of them` },
      account,
      { name: 'amount', value: 'D', help: 'signed decimal' },
      { name: 'description', value: 'T', help: 'text of the row' },
      { name: 'date', value: 'ISO', help: 'instant with Z or an offset' },
    ],
    method: 'POST',
    path: '/admin/sandbox/people/{}/rows/change',
    show: { kind: 'record', note: uncached },
  },
  state('login break', 'the login at the institution works no more'),
  state('login mend', 'the login works again'),
  state('login challenge', 'the login waits for a second factor'),
  state('consent expire', 'the consent has run out'),
  state('consent revoke', 'the person withdraws the consent'),
  state('consent renew', 'the person gives the consent again'),
  {
    noun: 'sandbox',
    verb: 'latency',
    summary: 'add so many milliseconds to every answer of a provider',
    places: ['PROVIDER', 'MS'],
    placeFields: ['ms'],
    flags: [],
    method: 'PUT',
    path: '/admin/sandbox/providers/{}/latency',
    show: { kind: 'record' },
  },
  {
    noun: 'sandbox',
    verb: 'fail',
    summary: 'let a provider refuse its calls with a status',
    places: ['PROVIDER', 'STATUS'],
    placeFields: ['status'],
    flags: [
      { name: 'times', value: 'N', isNumber: true, help: 'so many calls; until reset when absent' },
      { name: 'retry-after', value: 'S', isNumber: true, help: 'seconds that the provider names' },
    ],
    method: 'POST',
    path: '/admin/sandbox/providers/{}/failures',
    show: { kind: 'record' },
  },
  {
    noun: 'sandbox',
    verb: 'reset',
    summary: 'everybody and every provider as at the start',
    places: [],
    flags: [],
    method: 'POST',
    path: '/admin/sandbox/reset',
    show: connectionsTable('Done. Nobody in the sandbox is linked.'),
  },
]

/** `tributary sandbox` without a verb. */
export const sandboxStart: LocalCommand = {
  noun: 'sandbox',
  verb: '',
  summary: 'start the emulators alone, on fixed ports, until Ctrl-C',
  places: [],
  flags: [
    { name: 'fiskil-port', value: 'N', isNumber: true, help: '4010 when absent; 0: any free one' },
    { name: 'akahu-port', value: 'N', isNumber: true, help: '4020 when absent' },
    { name: 'snaptrade-port', value: 'N', isNumber: true, help: '4030 when absent' },
    { name: 'seed', value: 'T', help: 'the same text and day give the same people and rows' },
  ],
}
