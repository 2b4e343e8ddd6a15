/** What is asked before a connection is removed, and for a new personal key. Rendering only. */
import type { RemovalEffect } from '#connections/removal/removal-effect.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { type Html, html } from '../html.ts'
import { alertBox, field, hidden } from '../layout.ts'
import { renderQuestion } from '../question.ts'
import { nameOf, pathOf } from './facts.ts'
import { summarizeNames } from './lines.ts'

export interface RemoveConnectionOptions {
  readonly row: ConnectionRow
  /** Names of its accounts: a person may have several connections to one bank. */
  readonly accountNames: readonly string[]
  readonly effect: RemovalEffect
  readonly formToken: string
}

const effectTexts: Readonly<Record<RemovalEffect, (name: string) => string>> = {
  ends: (name) => `The consent at ${name} is ended.`,
  forgets_key: () => 'Your own key is forgotten here; other programs may still use it.',
  leaves: (name) => `The consent at ${name} was given elsewhere and stays there.`,
}

export function renderRemoveConnection(options: RemoveConnectionOptions): Html {
  const { row, accountNames, effect, formToken } = options
  const { name, endsConsents } = factsOf(row.provider)
  return renderQuestion({
    heading: 'Remove this connection?',
    sentences: html`<p><strong class="foreign">${nameOf(row)}</strong>: <span class="foreign">${summarizeNames(accountNames)}</span></p>
<p>Programs and agents can no longer read it, and what is kept of it here is deleted. ${effectTexts[effect](name)} Linked again, it has new ids.</p>`,
    path: `${pathOf(row)}/remove`,
    formToken,
    fields: effect !== 'ends' && renderEndAtProvider(name, endsConsents),
    confirm: 'Remove the connection',
    keep: 'Keep it',
  })
}

function renderEndAtProvider(name: string, endsConsents: boolean): Html {
  return endsConsents
    ? html`<label><input type="checkbox" name="atProvider" value="true">End the consent at ${name} too, for every program that uses it</label>`
    : html`<p>${name} has no call that ends a token: end it there yourself if nothing else uses it.</p>`
}

/** A field for a personal key: its name on pages and in the action. */
export interface KeyField {
  readonly key: string
  readonly name: string
  readonly label: string
  readonly hint: string
  readonly isOptional: boolean
}

/** Empty: the provider is asked with the key of this server. */
export function keyFieldsOf(provider: ConnectionRow['provider']): readonly KeyField[] {
  return Object.entries(factsOf(provider).linkFields).flatMap(([key, { onPage, isOptional }]) =>
    onPage === undefined ? [] : [{ key, ...onPage, isOptional: isOptional === true }],
  )
}

export interface NewKeyOptions {
  readonly row: ConnectionRow
  readonly formToken: string
  readonly problems: Readonly<Partial<Record<string, string>>>
  readonly message: string | null
}

/** What was typed is secret, so it is not shown again. */
export function renderNewKey({ row, formToken, problems, message }: NewKeyOptions): Html {
  const { name, personal } = factsOf(row.provider)
  const fields = keyFieldsOf(row.provider)
  return html`<p><a href="${pathOf(row)}">Back to the connection</a></p>
<h1>Reconnect <span class="foreign">${nameOf(row)}</span></h1>
${alertBox(message)}
<p>${fields.length === 0 ? `${name} is asked again with the key of this server. Mend the sign-in there first.` : `Give a new key of your own. You find it ${personal?.source ?? `at ${name}`}.`} The connection and its accounts keep their ids.</p>
<form method="post" action="${pathOf(row)}/reconnect" novalidate class="narrow">
${hidden('token', formToken)}
${fields.map((one) => field({ name: one.name, label: one.label, type: 'password', autocomplete: 'off', hint: one.hint, problem: problems[one.name], isOptional: one.isOptional }))}
<button type="submit">Reconnect</button>
</form>`
}
