/* The program of attack/ inside llmsbx: see lib/attack/image.h.  The build strips it first. */
	.section .rodata, "a", %progbits
	.global sbx_attack_start
	.global sbx_attack_end
	.type sbx_attack_start, %object
	.type sbx_attack_end, %object
	.balign 64
sbx_attack_start:
	.incbin "llmsbx-attack.bin"
sbx_attack_end:
	.byte 0
	.size sbx_attack_start, sbx_attack_end - sbx_attack_start
	.size sbx_attack_end, 1

	.section .note.GNU-stack, "", %progbits
