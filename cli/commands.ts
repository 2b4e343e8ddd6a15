/**
 * The one table of all commands: words, flags, the call of the admin API, and how its answer is shown. Most
 * come from the table of that API; the server defines what their fields mean.
 */
import { adminCommands } from './admin-commands.ts'
import type { Command, LocalCommand } from './command.ts'
import { providerWords, sandboxCommands } from './sandbox-commands.ts'

/** In the order of the help text. */
export const commands: readonly Command[] = [...adminCommands, ...sandboxCommands]

/** Replays an agent's handshake; it calls the given URL, not the admin API. */
export const mcpDoctor: LocalCommand = {
  noun: 'doctor',
  verb: '--mcp',
  summary: 'replay what an agent does with this URL, and report which step fails',
  places: ['URL'],
  flags: [{ name: 'key', value: 'KEY', isSecret: true, help: 'an API key, to try the tools too' }],
}

/** Receives events itself, until Ctrl-C. */
export const webhooksListen: LocalCommand = {
  noun: 'webhooks',
  verb: 'listen',
  summary: 'receive the events of a user here and print them, until Ctrl-C',
  places: [],
  flags: [
    { name: 'user', value: 'U', help: 'whose events, by an endpoint of their own; verified' },
    {
      name: 'key',
      value: 'KEY',
      isSecret: true,
      help: 'an API key whose events are fetched; without --user TRIBUTARY_API_KEY has it',
    },
    {
      name: 'base-url',
      value: 'URL',
      help: 'with a key: of the server; else TRIBUTARY_BASE_URL, or this machine',
    },
    {
      name: 'port',
      value: 'N',
      isNumber: true,
      help: 'with --user: port on 127.0.0.1; any free one when absent',
    },
  ],
}

/** What the placeholders of positional arguments mean. */
export const placeMeanings: Readonly<Record<string, string>> = {
  U: 'id or e-mail address of a user',
  E: 'e-mail address',
  K: 'id of a key',
  A: 'id of a connected agent',
  S: 'id of a signed-in browser',
  P: 'id of a program that reads SimpleFIN',
  C: 'id of a connection',
  W: 'id of a webhook endpoint',
  D: 'id of a delivery',
  N: 'id of a consumer of events',
  URL: 'as agents are given it, e.g. https://example.com/mcp',
  PERSON: 'name of a person in the sandbox, see `sandbox people`',
  EVENT: 'an event as its provider names it, e.g. consent.revoked',
  PROVIDER: providerWords,
  MS: 'milliseconds, 0 for none',
  STATUS: 'HTTP status from 400 to 599',
}
