/* Small conveniences. Pages work without this script. */

/* A button that copies, after each element with the attribute data-copy. */
for (const source of document.querySelectorAll('[data-copy]')) {
  const button = document.createElement('button')
  const what = source.getAttribute('data-copy')
  const say = (word) => {
    button.textContent = word
    button.setAttribute('aria-label', `${word} ${what}`)
  }
  button.type = 'button'
  button.className = 'secondary outline copy'
  button.setAttribute('aria-live', 'polite')
  say('Copy')
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent)
      say('Copied')
    } catch {
      // Without the permission to write, the text is selected, so that the person can copy it.
      getSelection().selectAllChildren(source)
      say('Selected')
    }
    setTimeout(() => say('Copy'), 4000)
  })
  source.after(button)
}

/* Fields that are filled in by the browser's own time zone. */
for (const field of document.querySelectorAll('input[data-fill="timezone"]')) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? ''
}

/* An open menu closes with Escape, and when the focus or a click goes elsewhere. */
for (const menu of document.querySelectorAll('details.menu')) {
  const close = () => menu.removeAttribute('open')
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    close()
    menu.querySelector('summary').focus()
  })
  document.addEventListener('click', (event) => {
    if (!menu.contains(event.target)) close()
  })
  menu.addEventListener('focusout', (event) => {
    if (event.relatedTarget !== null && !menu.contains(event.relatedTarget)) close()
  })
}
