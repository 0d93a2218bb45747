/* The guest program inside llmsbx: see lib/guest/image.h.  The build strips it first. */
	.section .rodata, "a", %progbits
	.global sbx_guest_start
	.global sbx_guest_end
	.type sbx_guest_start, %object
	.type sbx_guest_end, %object
	.balign 64
sbx_guest_start:
	.incbin "llmsbx-guest.bin"
sbx_guest_end:
	.byte 0
	.size sbx_guest_start, sbx_guest_end - sbx_guest_start
	.size sbx_guest_end, 1

	.section .note.GNU-stack, "", %progbits
