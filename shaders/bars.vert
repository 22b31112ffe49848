// Square boxes with or without an edge: the timeline's bars, cells. shape.y: width of the edge.
out vec2 p;
flat out vec4 box, inside, edge;
flat out float width;

void main() {
    float grow = ceil(shape.y * 0.5) * 2.0;
    p = mix(place.xy - grow, place.zw + grow, corner());
    box = place;
    inside = fill;
    edge = stroke;
    width = shape.y;
    gl_Position = on_screen(p);
}
